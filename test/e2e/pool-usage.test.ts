// What a sandbox costs, on every backend: told from the kernel's own counts, or said to be beyond what the backend can tell.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isRequired } from '../conformance/required.ts'
import { startServer, type Answered, type ServerGround } from './server-ground.ts'

const docker = (...args: readonly string[]): string | undefined => {
  try {
    return execFileSync('docker', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  } catch {
    return undefined
  }
}
const hasImage = (name: string): boolean => docker('image', 'inspect', `glovebox/sandbox:${name}`) !== undefined
const hasRunsc = (): boolean => docker('info', '--format', '{{json .Runtimes}}')?.includes('"runsc"') ?? false

interface Case {
  readonly name: string
  readonly flags: readonly string[]
  readonly settings: string
  readonly isHere: () => boolean
  /** Always; what else can be counted depends on the host. */
  readonly counted: readonly What[]
  readonly neverCounted: readonly What[]
}

const all = ['memoryBytes', 'pids', 'cpuMs'] as const
type What = (typeof all)[number]

const usual: Case = { name: '', flags: [], settings: '{}\n', isHere: () => true, counted: all, neverCounted: [] }
const cases: readonly Case[] = [
  // Where the processor's use is counted in a hierarchy of its own, sandboxes have no group in it.
  { ...usual, name: 'bwrap', flags: ['--backend', 'bwrap'], counted: ['memoryBytes', 'pids'] },
  { ...usual, name: 'docker', flags: ['--backend', 'docker'], isHere: () => hasImage('latest') },
  {
    ...usual,
    name: 'docker-runsc',
    settings: 'docker:\n  image: glovebox/sandbox:bullseye\n  runtime: runsc\npool:\n  use: docker\n',
    isHere: () => hasRunsc() && hasImage('bullseye'),
    counted: ['memoryBytes', 'cpuMs'],
    neverCounted: ['pids'],
  },
  { ...usual, name: 'local', flags: ['--backend', 'local'], counted: [], neverCounted: all },
]

describe.each(cases)('what a sandbox costs on $name', ({ name, flags, settings, isHere, counted, neverCounted }) => {
  const isTried = isHere() || isRequired(name)
  let place: string
  let ground: ServerGround
  beforeAll(async () => {
    place = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-usage-')))
    const file = join(place, 'settings.yaml')
    writeFileSync(file, settings, { mode: 0o600 })
    if (isTried) ground = await startServer({ place, flags: [...flags, '--config', file] })
  })
  afterAll(async () => {
    if (isTried) await ground.stop()
    rmSync(place, { recursive: true, force: true })
  })
  const post = (path: string, body: object = {}): Promise<Answered> => ground.call('POST', path, { body })

  it.skipIf(!isTried)('is counted while it is open, and what cannot be is named with a reason', async () => {
    const sandbox = `/sandboxes/${String((await post('/sandboxes')).at('id'))}`
    const usage = async (): Promise<Answered> => ground.call('GET', `${sandbox}/usage`)
    const work = 'head -c 8000000 /dev/zero > /tmp/held; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo done'
    const done = await post(`${sandbox}/commands`, { command: work })
    expect(done.at('stdout'), done.text).toBe('done\n')
    const begun = await post(`${sandbox}/commands`, {
      command: 'head -c 8000000 /dev/zero > /tmp/held; sleep 20',
      background: true,
    })
    const most: Record<What, number> = { memoryBytes: 0, pids: 0, cpuMs: 0 }
    const look = async (): Promise<boolean> => {
      const seen = await usage()
      for (const what of all) most[what] = Math.max(most[what], Number(seen.at(what)))
      return counted.every((what) => most[what] > (what === 'memoryBytes' ? 8_000_000 : 0))
    }
    await expect.poll(look).toBe(true)
    const seen = await usage()
    const missing = seen.at('notCounted') as readonly { readonly what: What; readonly why: string }[]
    expect(missing.map(({ what }) => what).toSorted()).toEqual(all.filter((what) => seen.at(what) === null).toSorted())
    for (const { why } of missing) expect(why.length).toBeGreaterThan(10)
    for (const what of neverCounted) expect(seen.at(what)).toBeNull()
    expect(most.memoryBytes).toBeLessThanOrEqual(Number(seen.at('memoryLimitBytes')))
    await ground.call('DELETE', String(begun.headers['location']))
    await post(`${sandbox}/pause`)
    const resting = await usage()
    expect([...all.map((what) => resting.at(what)), resting.at('notCounted')]).toEqual([null, null, null, []])
  })
})
