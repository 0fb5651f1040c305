// `glovebox runs fork` on runs that really took place, with real overlays: what is seen through, what is kept apart, and what
// is refused. Overlays are laid for root alone; for others see "a copy".
import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Executor } from '../../src/contract/executor.ts'
import type { ForkRecord } from '../../src/contract/fork.ts'
import type { Finished } from './command-line.ts'
import { makeRunGround, recordOf, type RunGround } from './run-ground.ts'

const { runs } = (await import(
  new URL('../../dist/index.js', import.meta.url).href
)) as typeof import('../../src/index.ts')

const isRoot = process.getuid?.() === 0
let ground: RunGround
let stateBefore: string | undefined

beforeAll(async () => {
  ground = makeRunGround()
  stateBefore = process.env['GLOVEBOX_STATE_DIR']
  process.env['GLOVEBOX_STATE_DIR'] = join(ground.outside, 'state')
  const made = await ground.shell(
    'origin',
    'mkdir -p d/e; echo one > a; echo deep > d/e/f; echo keep > k; ln -s a link',
  )
  if (made.code !== 0) throw new Error(made.stderr)
})
afterAll(() => {
  if (stateBefore === undefined) delete process.env['GLOVEBOX_STATE_DIR']
  else process.env['GLOVEBOX_STATE_DIR'] = stateBefore
  ground.remove()
})

/** A fork that is started at once with a script. */
const forked = (from: string, name: string, script: string, ...flags: readonly string[]): Promise<Finished> =>
  ground.glovebox(['runs', 'fork', from, '--sandbox', `runs/${name}`, ...flags, '--start', '--', 'sh', '-c', script])
const prepared = (from: string, name: string, ...flags: readonly string[]): Promise<Finished> =>
  ground.glovebox(['runs', 'fork', from, '--sandbox', `runs/${name}`, '--json', ...flags])
const forkOf = (name: string): ForkRecord =>
  JSON.parse(readFileSync(join(ground.place(name), 'archive/fork.json'), 'utf8')) as ForkRecord
const own = (name: string): readonly string[] => readdirSync(join(ground.place(name), 'workspace')).toSorted()
/** The paths of the artifact manifest below workspace/. */
const artifacts = (name: string): readonly string[] =>
  (
    JSON.parse(readFileSync(join(ground.place(name), 'artifact-manifest.json'), 'utf8')) as {
      entries: { path: string; role: string }[]
    }
  ).entries.flatMap(({ path, role }) => (role === 'workspace' ? [path.slice('workspace/'.length)] : []))
const verified = async (...names: readonly string[]): Promise<Finished> => ground.glovebox(['runs', 'verify', ...names])
const list = "find . -mindepth 1 -not -path './.*' -printf '%P\\n' | sort"
const visible = (text: string): readonly string[] =>
  text.split('\n').filter((name) => name !== '' && !['glovebox.yaml', 'mise.toml'].includes(name))

describe.runIf(isRoot)('a fork by overlay', () => {
  it('begins with what the other run left, and copies nothing', async () => {
    const made = await prepared('origin', 'bare')
    expect(made.code, made.stderr).toBe(0)
    expect(JSON.parse(made.stdout)).toMatchObject({ status: 'pending', by: 'overlay', copied_bytes: 0, layers: 1 })
    expect(own('bare')).toEqual([])
    expect(recordOf(ground.place('bare')).forked_from).toEqual({
      run_id: recordOf(ground.place('origin')).run_id,
      seq: recordOf(ground.place('origin')).state_seq,
    })
    const seen = await forked('bare', 'looked', `cat a d/e/f link; ${list}`)
    expect(seen.code, seen.stderr).toBe(0)
    expect(visible(seen.stdout)).toEqual(['one', 'deep', 'one', 'a', 'd', 'd/e', 'd/e/f', 'k', 'link'])
  })

  it('writes in one never appear in the other', async () => {
    const before = readFileSync(join(ground.place('origin'), 'workspace/a'), 'utf8')
    const one = await forked('origin', 'one', 'echo changed > a; rm -r d; mv k k2; mkdir k; echo n > k/n; cat a')
    const other = await forked('origin', 'other', `cat a k d/e/f; echo other >> a; ${list}`)
    expect([one.stdout, other.stdout.slice(0, 14)]).toEqual(['changed\n', 'one\nkeep\ndeep\n'])
    expect(readFileSync(join(ground.place('origin'), 'workspace/a'), 'utf8')).toBe(before)
    expect(readFileSync(join(ground.place('one'), 'workspace/a'), 'utf8')).toBe('changed\n')
    expect(readFileSync(join(ground.place('other'), 'workspace/a'), 'utf8')).toBe('one\nother\n')
    expect((await verified('origin', 'one', 'other')).code).toBe(0)
    expect(artifacts('one')).toEqual(['a', 'k', 'k/n', 'k2', 'link'])
  })

  it('nested forks see through every level, and each only its own', async () => {
    await forked('origin', 'first', 'echo first > a; rm k; echo 1 > new')
    await forked('first', 'second', 'mv d moved; echo second >> a; rm new; mkdir new; echo 2 > new/2')
    const third = await forked('second', 'third', `cat a moved/e/f new/2; rm -r moved/e; echo 3 > moved/e; ${list}`)
    expect(third.code, third.stderr).toBe(0)
    const lines = visible(third.stdout)
    expect(lines).toEqual(['first', 'second', 'deep', '2', 'a', 'link', 'moved', 'moved/e', 'new', 'new/2'])
    expect(forkOf('third').layers.map(({ run_id: id }) => id)).toEqual(
      ['second', 'first', 'origin'].map((name) => recordOf(ground.place(name)).run_id),
    )
    expect(artifacts('third')).toEqual(['a', 'link', 'moved', 'moved/e', 'new', 'new/2'])
    expect(artifacts('second')).toEqual(['a', 'link', 'moved', 'moved/e', 'moved/e/f', 'new', 'new/2'])
    expect((await verified('origin', 'first', 'second', 'third')).code).toBe(0)
  })

  it('commands, file actions and the record see the same', async () => {
    const seen: Record<string, unknown> = {}
    const execute: Executor['execute'] = async ({ sandbox }) => {
      await sandbox.files.write('/workspace/a', 'by the host')
      await sandbox.files.write('/workspace/d/e/g', 'new')
      await sandbox.files.rename('/workspace/d', '/workspace/dd')
      await sandbox.commands.run('echo appended >> dd/e/f; rm k; mkdir k')
      seen['command'] = (await sandbox.commands.run('cat a dd/e/f dd/e/g; ls -A k')).stdout
      seen['owners'] = (await sandbox.commands.run('stat -c %u:%g a dd/e/g k dd | sort -u')).stdout
      seen['action'] = [
        await sandbox.files.read('/workspace/dd/e/f'),
        (await sandbox.files.list('/workspace/k')).entries.length,
        await sandbox.files.exists('/workspace/d'),
        (await sandbox.files.stat('/workspace/k')).kind,
      ]
      seen['protected'] = await sandbox.files.write('/workspace/.git/hooks/x', '').catch((error: unknown) => error)
      seen['held'] = (await sandbox.commands.run('touch .git/hooks/x')).exitCode
      return { status: 'completed', summary: 'done' }
    }
    const run = await runs.start({
      prompt: 'x',
      sandboxPath: ground.place('files'),
      executor: { name: 'own', execute },
      fork: { directory: ground.place('origin') },
    })
    expect(run.record.status, JSON.stringify(run.outcome)).toBe('completed')
    expect(seen['command']).toBe('by the hostdeep\nappended\nnew')
    expect(seen['owners']).toBe('1000:1000\n')
    expect(seen['action']).toEqual(['deep\nappended\n', 0, false, 'directory'])
    expect(seen['protected']).toMatchObject({ code: 'PROTECTED' })
    expect(seen['held']).not.toBe(0)
    expect(artifacts('files')).toEqual(['a', 'dd', 'dd/e', 'dd/e/f', 'dd/e/g', 'k', 'link'])
    expect(lstatSync(join(ground.place('files'), 'workspace/a')).uid).toBe(process.getuid?.())
    expect((await verified('files')).code).toBe(0)
  })

  it('is not started when what lies under it was changed', async () => {
    await ground.shell('ground', 'mkdir d; echo x > d/x')
    expect((await prepared('ground', 'standing')).code).toBe(0)
    expect((await forked('standing', 'control', 'cat d/x')).stdout, 'control').toBe('x\n')
    const file = join(ground.place('ground'), 'workspace/d/x')
    writeFileSync(file, 'y\n')
    // Times of its own choosing do not help.
    utimesSync(file, 1, 1)
    const late = await forked('standing', 'late', 'cat d/x')
    expect(late.code).not.toBe(0)
    expect(late.stderr).toContain('has been changed since')
    expect(recordOf(ground.place('late'))).toMatchObject({ status: 'failed', failure_reason: 'conflict' })
  })

  it('tells verify when the run below was changed or is gone', async () => {
    await ground.shell('below', 'echo x > x; echo y > y')
    await forked('below', 'above', 'echo z > z')
    expect((await verified('above')).code, 'control').toBe(0)
    writeFileSync(join(ground.place('below'), 'workspace/x'), 'X\n')
    const changed = await verified('above')
    expect([changed.code, `${changed.stdout}${changed.stderr}`]).toEqual([18, expect.stringContaining('workspace/x')])
    writeFileSync(join(ground.place('below'), 'workspace/x'), 'x\n')
    renameSync(ground.place('below'), ground.place('elsewhere'))
    const gone = await verified('above')
    expect([gone.code, `${gone.stdout}${gone.stderr}`]).toEqual([17, expect.stringContaining('not where it was')])
    renameSync(ground.place('elsewhere'), ground.place('below'))
    expect((await verified('above')).code).toBe(0)
  })

  it('can be moved together with the run below it', async () => {
    await ground.shell('moved-below', 'echo x > x')
    await forked('moved-below', 'moved-above', 'echo z > z')
    const place = join(ground.directory, 'archive')
    mkdirSync(place)
    for (const name of ['moved-below', 'moved-above']) renameSync(ground.place(name), join(place, name))
    expect((await ground.glovebox(['runs', 'verify', '--root', place, 'moved-above'])).code).toBe(0)
    rmSync(place, { recursive: true })
  })

  it('tells what it changed against what it began with', async () => {
    await forked('origin', 'diffed', 'echo two >> a; rm k; echo n > n')
    const diff = await ground.glovebox(['runs', 'diff', 'diffed', '--stat'])
    expect(diff.code, diff.stderr).toBe(0)
    for (const line of ['changed', 'deleted', 'created']) expect(diff.stdout).toContain(line)
  })
})

describe.runIf(isRoot)('a fork of an earlier moment of a fork', () => {
  it('has what the fork had then, and what it saw through to', async () => {
    const execute: Executor['execute'] = async ({ sandbox }) => {
      await sandbox.commands.run('echo 1 >> a; rm k; mkdir d/n; echo n > d/n/n')
      await sandbox.commands.run('rm -r d; mv a b; echo k > k; chmod 600 b')
      return { status: 'completed', summary: 'done' }
    }
    await runs.start({
      prompt: 'x',
      sandboxPath: ground.place('multi'),
      executor: { name: 'own', execute },
      fork: { directory: ground.place('origin') },
    })
    const at = async (moment: string, ...flags: readonly string[]): Promise<readonly string[]> => {
      const name = `multi-${moment.replace(':', '')}${flags.length}`
      const seen = await forked('multi', name, `cat a d/e/f; ${list}`, '--at', moment, ...flags)
      expect((await verified(name)).code).toBe(0)
      return visible(seen.stdout)
    }
    const then = ['one', '1', 'deep', 'a', 'd', 'd/e', 'd/e/f', 'd/n', 'd/n/n', 'link']
    expect(await at('action:1')).toEqual(then)
    expect(await at('action:1', '--copy')).toEqual(then)
    expect(await at('action:0')).toEqual(['one', 'deep', 'a', 'd', 'd/e', 'd/e/f', 'k', 'link'])
    const last = await forked('multi', 'multi-end', `cat b k; ${list}`, '--at', 'action:2')
    expect(visible(last.stdout)).toEqual(['one', '1', 'k', 'b', 'k', 'link'])
  })
})

describe('a fork of an earlier moment', () => {
  const execute: Executor['execute'] = async ({ sandbox }) => {
    await sandbox.commands.run('mkdir d; echo 1 > a; echo d1 > d/x; echo gone > g; ln -s a l; chmod 750 d')
    await sandbox.commands.run('echo 2 > a; rm -r d; rm g; ln -sf g l; echo new > n; mkdir m; echo m > m/m')
    await sandbox.commands.run('head -c 3000000 /dev/zero > big; echo 3 > a')
    await sandbox.commands.run('head -c 3000001 /dev/zero > big')
    return { status: 'completed', summary: 'done' }
  }
  beforeAll(async () => {
    await runs.start({ prompt: 'x', sandboxPath: ground.place('long'), executor: { name: 'own', execute } })
  })

  it.each([
    ['--at', 'action:1'],
    ['--at', 'action:1', '--copy'],
  ])('has the workspace as it was (%s %s %s)', async (...flags) => {
    const name = `at-${flags.length}`
    const seen = await forked('long', name, `cat a d/x g; readlink l; stat -c %a d; ${list}`, ...flags)
    expect(seen.code, seen.stderr).toBe(0)
    expect(visible(seen.stdout)).toEqual(['1', 'd1', 'gone', 'a', '750', 'a', 'd', 'd/x', 'g', 'l'])
    expect(forkOf(name)).toMatchObject({
      after_action: 1,
      by: flags.includes('--copy') || !isRoot ? expect.not.stringMatching('overlay') : 'overlay',
    })
    expect((await verified(name)).code).toBe(0)
    const again = await forked(name, `${name}-again`, 'cat a; ls')
    expect(visible(again.stdout)).toEqual(['1', 'a', 'd', 'g', 'l'])
  })

  it('an event stands for the action that ended last before it', async () => {
    const seen = await forked('long', 'at-first', list, '--at', '2')
    expect(visible(seen.stdout)).toEqual([])
  })

  it('is refused by name where a content was not kept, and nothing is made', async () => {
    const refused = await prepared('long', 'at-large', '--at', 'action:3')
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('workspace/big')])
    expect(readdirSync(join(ground.directory, 'runs'))).not.toContain('at-large')
    expect((await prepared('long', 'at-end', '--at', 'action:4')).code, 'control').toBe(0)
  })

  it.each(['action:9', '999', 'yesterday', 'action:'])('a moment that there is not is refused (%s)', async (moment) => {
    expect((await prepared('long', 'at-never', '--at', moment)).code).not.toBe(0)
    expect(readdirSync(join(ground.directory, 'runs'))).not.toContain('at-never')
  })
})

describe('a copy', () => {
  it('is said to be one, with what it cost, and stands alone', async () => {
    await ground.shell('copied', 'mkdir -m 700 d; echo x > d/x; ln -s d/x l; chmod 600 d/x')
    const made = await prepared('copied', 'copy', '--copy')
    expect(made.code, made.stderr).toBe(0)
    expect(JSON.parse(made.stdout)).toMatchObject({
      by: expect.stringMatching(/^(?:copy|reflink)$/),
      copied_bytes: 2,
      layers: 0,
    })
    const { mode } = lstatSync(join(ground.place('copy'), 'workspace/d/x'))
    expect(mode & 0o777).toBe(0o600)
    writeFileSync(join(ground.place('copied'), 'workspace/d/x'), 'later\n')
    expect((await forked('copy', 'copy-used', 'cat l')).stdout).toBe('x\n')
  })
})

describe('what cannot be forked', () => {
  it('a run at work is refused, and nothing is made', async () => {
    const working = ground.start(['run', '--prompt', 'x', '--sandbox', 'runs/working', '--', 'sh', '-c', 'cat'], {
      input: 'open',
    })
    const isAtWork = (): boolean => {
      try {
        return recordOf(ground.place('working')).status === 'running'
      } catch {
        return false
      }
    }
    while (!isAtWork()) await new Promise((resolve) => setTimeout(resolve, 20))
    const refused = await prepared('working', 'early')
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('it has not ended')])
    expect(readdirSync(join(ground.directory, 'runs'))).not.toContain('early')
    working.child.kill('SIGINT')
    await working.finished
    expect((await prepared('working', 'early')).code, 'control').toBe(0)
  })

  it('a place that is taken is refused untouched', async () => {
    const before = readFileSync(join(ground.place('origin'), 'run.json'), 'utf8')
    expect((await prepared('copied', 'origin')).code).toBe(1)
    expect(readFileSync(join(ground.place('origin'), 'run.json'), 'utf8')).toBe(before)
  })
})
