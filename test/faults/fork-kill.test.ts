// A fork that is killed while it is made, or while it runs: the other run is as it was, what can be seen is whole, and what
// was half made goes with the next.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeRunGround, recordOf, type RunGround } from '../e2e/run-ground.ts'
import { until } from '../e2e/command-line.ts'
import { processesWith, type SeenProcess } from '../attacks/host-view.ts'

let ground: RunGround
beforeAll(async () => {
  ground = makeRunGround()
  const made = await ground.shell('origin', 'mkdir d; echo one > d/a; echo two > b')
  if (made.code !== 0) throw new Error(made.stderr)
})
afterAll(() => ground.remove())

const verified = async (name: string): Promise<number | null> => (await ground.glovebox(['runs', 'verify', name])).code
const own = (name: string): readonly string[] => readdirSync(join(ground.place(name), 'workspace')).toSorted()
/** Between its making and its lock lie a few calls; one that was cut off there is kept for an hour. */
const locked = (): readonly string[] =>
  readdirSync(join(ground.directory, 'runs')).filter(
    (name) => name.startsWith('.glovebox-run-') && existsSync(join(ground.directory, 'runs', name, 'logs/run.lock')),
  )

/** Whoever made it is gone. One whose maker lives is in use: by another suite, which runs beside this one. */
const isOrphan = ({ parent }: SeenProcess): boolean => {
  try {
    return !readFileSync(`/proc/${parent}/cmdline`, 'latin1').includes('node')
  } catch {
    // Its maker ends in this very moment.
    return true
  }
}

/** Of the namespaces for the owners of layers and mounts: they are made by a bwrap that must not outlive its use. */
const idleHelpers = (): readonly number[] =>
  ['--userns-block-fd', '--unshare-user\0--uid\x000\0--gid'].flatMap((words) =>
    processesWith(words)
      .filter((each) => each.state !== 'Z' && isOrphan(each))
      .map(({ pid }) => pid),
  )

describe('a fork that is killed', () => {
  it('while it is made leaves a whole run or none', async () => {
    const begun = performance.now()
    const whole = await ground.glovebox(['runs', 'fork', 'origin', '--sandbox', 'runs/whole'])
    const tookMs = performance.now() - begun
    expect(whole.code, whole.stderr).toBe(0)
    const rounds = 12
    const left: string[] = []
    for (let round = 0; round < rounds; round += 1) {
      const name = `made-${round}`
      const { child, finished } = ground.start(['runs', 'fork', 'origin', '--sandbox', `runs/${name}`])
      setTimeout(() => child.kill('SIGKILL'), tookMs * (0.3 + (0.8 * round) / rounds))
      await finished
      if (existsSync(ground.place(name))) left.push(name)
    }
    for (const name of left) {
      expect(recordOf(ground.place(name)).status).toBe('pending')
      expect(await verified(name)).toBe(0)
    }
    const last = await ground.glovebox([
      'runs',
      'fork',
      'origin',
      '--sandbox',
      'runs/last',
      '--start',
      '--',
      'cat',
      'd/a',
    ])
    expect([last.code, last.stdout]).toEqual([0, 'one\n'])
    expect(locked()).toEqual([])
    expect(await verified('origin')).toBe(0)
    expect(own('origin')).toEqual(['b', 'd'])
    // Of those that are there now: another suite may at any time have one whose maker is just killed.
    const helpers = idleHelpers()
    await until('nothing of its making is left', () => !idleHelpers().some((pid) => helpers.includes(pid)))
  })

  it('while it runs leaves what it had done, and no stand-ins, in itself and in the other', async () => {
    const script = 'rm b; echo half > half; sleep 60'
    const { child, finished } = ground.start([
      'runs',
      'fork',
      'origin',
      '--sandbox',
      'runs/ran',
      '--start',
      '--',
      'sh',
      '-c',
      script,
    ])
    await until('it has written', () => existsSync(join(ground.place('ran'), 'workspace/half')))
    child.kill('SIGKILL')
    await finished
    expect((await ground.glovebox(['runs', 'recover'])).code).toBe(0)
    expect(recordOf(ground.place('ran'))).toMatchObject({ status: 'lost', failure_reason: 'server_crash' })
    // The next sandbox sweeps.
    const next = await ground.glovebox([
      'runs',
      'fork',
      'ran',
      '--sandbox',
      'runs/next',
      '--start',
      '--',
      'sh',
      '-c',
      'cat half d/a; ls b',
    ])
    expect([next.stdout, next.code === 0]).toEqual(['half\none\n', false])
    expect(own('ran').filter((name) => !['half', 'b', 'd'].includes(name))).toEqual([])
    expect(own('origin')).toEqual(['b', 'd'])
    expect(await verified('origin')).toBe(0)
    expect(await verified('ran')).toBe(0)
  })
})
