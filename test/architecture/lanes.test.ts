// The whole test is many lanes, and each leaves something to another. Whatever is left out must be in another one.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

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
  const lanes = list('bwrap,local,docker,docker-runsc')
  const named = (name: string): Lane => lanes.find((lane) => lane.name === name) as Lane

  it('leave an attack to the one on bwrap only if it is on no backend that can be chosen', () => {
    for (const backend of ['docker', 'docker-runsc']) {
      const left = excludedIn(named(`attacks on ${backend}`))
      const starts = /openHost|attackScene|startExecServer/
      expect(left.filter((file) => starts.test(readFileSync(join(root, file), 'utf8')))).toEqual([])
      expect(excludedIn(named('attacks')).filter((file) => left.includes(file))).toEqual([])
    }
  })

  it('run in another lane what the one of its suite leaves out', () => {
    for (const file of excludedIn(named('conformance')))
      expect(
        lanes.some(({ args }) => args.includes(file)),
        file,
      ).toBe(true)
    for (const name of ['faults', 'e2e']) expect(excludedIn(named(name))).toEqual([])
  })

  it('leave nothing out where no containers are required', () => {
    for (const lane of list('bwrap,local')) expect(excludedIn(lane), lane.name).toEqual([])
  })
})
