// The whole test is many lanes, and each leaves something to another. Whatever is left out must be in another one.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { attackFiles } from './attack-tests.ts'

interface Lane {
  readonly name: string
  readonly suite: string
  readonly args: readonly string[]
}

const root = fileURLToPath(new URL('../..', import.meta.url))
const list = (required: string): readonly Lane[] =>
  JSON.parse(
    execFileSync(
      process.execPath,
      [join(root, 'script/lanes.mjs'), '--list', '--whole', 'conformance', 'attacks', 'faults', 'e2e'],
      { encoding: 'utf8', env: { ...process.env, GLOVEBOX_REQUIRE: required } },
    ),
  ) as readonly Lane[]
const excludedIn = ({ args }: Lane): readonly string[] =>
  args.filter((word) => word.startsWith('--exclude=')).map((word) => word.slice('--exclude='.length))

describe('the lanes of script/test', () => {
  const lanes = list('bwrap,local,docker,docker-runsc,dockerd')
  const named = (name: string): Lane => lanes.find((lane) => lane.name === name) as Lane

  it('leave to the one on bwrap exactly the attacks that are not for every backend', () => {
    const once = attackFiles.filter(({ reach }) => reach === 'host' || reach === 'bwrap').map(({ path }) => path)
    for (const backend of ['docker', 'docker-runsc'])
      expect(excludedIn(named(`attacks on ${backend}`)).toSorted(), backend).toEqual(once.toSorted())
    expect(excludedIn(named('attacks')).filter((file) => once.includes(file))).toEqual([])
    const ofContainers = attackFiles.filter(({ reach }) => reach === 'containers').map(({ path }) => path)
    expect(excludedIn(named('attacks'))).toEqual(ofContainers)
  })

  it('run in another lane what the one of its suite leaves out', () => {
    for (const file of ['conformance', 'faults'].flatMap((name) => excludedIn(named(name)))) {
      expect(existsSync(join(root, file)), file).toBe(true)
      expect(
        lanes.some(({ args }) => args.includes(file)),
        file,
      ).toBe(true)
    }
    expect(excludedIn(named('e2e'))).toEqual([])
  })

  it('leave nothing out where no containers are required', () => {
    for (const lane of list('bwrap,local')) expect(excludedIn(lane), lane.name).toEqual([])
  })
})
