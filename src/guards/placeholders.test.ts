import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { newSandboxId, type SandboxId } from '../contract/ids.ts'
import { ownIdentity, type ProcessIdentity } from '../process/identity.ts'
import { listJournals } from './journal.ts'
import { layPlaceholders, liftPlaceholders, sweepPlaceholders, type ProtectedName } from './placeholders.ts'
import type { LayStep } from './placing/lay.ts'

let area: string
let workspace: string
let stateDir: string
let root: number
beforeEach(() => {
  area = mkdtempSync(join(tmpdir(), 'glovebox-placing-'))
  workspace = join(area, 'workspace')
  stateDir = join(area, 'state')
  mkdirSync(workspace)
  root = openSync(workspace, 'r')
})
afterEach(() => {
  closeSync(root)
  rmSync(area, { recursive: true })
})

const inWorkspace = (...names: string[]): string => join(workspace, ...names)
const journalFiles = (): readonly string[] => readdirSync(join(stateDir, 'placeholders'))
const file = (name: string): ProtectedName => ({ name, kind: 'file' })
const directory = (name: string): ProtectedName => ({ name, kind: 'directory' })
const usual = [directory('.git/hooks'), file('.git/config'), file('.bashrc'), directory('.vscode')]

interface LayAs {
  readonly sandboxId?: SandboxId
  readonly owner?: ProcessIdentity
}
const lay = (names: readonly ProtectedName[], { sandboxId = newSandboxId(), owner }: LayAs = {}) =>
  layPlaceholders({
    sandboxId,
    stateDir,
    roots: [{ descriptor: root, hostPath: workspace, names }],
    ...(owner === undefined ? {} : { owner }),
  })
const dead = (): ProcessIdentity => ({ ...ownIdentity(), startTime: '1' })

/** Stops at a step for ever, as a process that is killed there. */
/** File systems give out numbers again, and not when they are told to: here it is the journal that has the number of another file. */
function giveOutAgain(inode: bigint): void {
  for (const name of journalFiles()) {
    const path = join(stateDir, 'placeholders', name)
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll(/"inode":\s*"\d+"/g, `"inode":"${inode}"`))
  }
}

const layAndDieAfter = (step: LayStep, names = usual): Promise<void> =>
  new Promise((resolve, reject) => {
    const roots = [{ descriptor: root, hostPath: workspace, names }]
    const afterStep = (reached: LayStep) => (reached === step ? (die(), new Promise<never>(() => {})) : undefined)
    // A dead holder's lock is taken over; here the holder lives on as this process.
    const die = (): void => (unlinkSync(join(stateDir, 'locks', 'placeholders.lock')), resolve())
    layPlaceholders({ sandboxId: newSandboxId(), stateDir, roots, owner: dead(), afterStep }).then(
      () => reject(new Error(`never came to: ${step}`)),
      reject,
    )
  })

describe.skipIf(process.platform !== 'linux')('layPlaceholders (needs /proc)', () => {
  it('makes an empty placeholder for the first missing component of every name', async () => {
    mkdirSync(inWorkspace('.git'))
    expect(await lay(usual)).toEqual([
      { hostPath: workspace, name: '.git/hooks', exists: 'placeholder', kind: 'directory', maskedName: '.git/hooks' },
      { hostPath: workspace, name: '.git/config', exists: 'placeholder', kind: 'file', maskedName: '.git/config' },
      { hostPath: workspace, name: '.bashrc', exists: 'placeholder', kind: 'file', maskedName: '.bashrc' },
      { hostPath: workspace, name: '.vscode', exists: 'placeholder', kind: 'directory', maskedName: '.vscode' },
    ])
    expect(readdirSync(workspace).sort()).toEqual(['.bashrc', '.git', '.vscode'])
    expect(readdirSync(inWorkspace('.git')).sort()).toEqual(['config', 'hooks'])
    expect(statSync(inWorkspace('.bashrc')).size).toBe(0)
  })

  it('holds several names below a missing directory by one placeholder', async () => {
    const placed = await lay([file('.git'), ...usual])
    expect(placed.slice(0, 3).map((each) => [each.maskedName, each.kind])).toEqual([
      ['.git', 'directory'],
      ['.git', 'directory'],
      ['.git', 'directory'],
    ])
    expect(readdirSync(inWorkspace('.git'))).toEqual([])
  })

  it('leaves what is present as it is, and writes no journal for it', async () => {
    mkdirSync(inWorkspace('.git/hooks'), { recursive: true })
    writeFileSync(inWorkspace('.bashrc'), '')
    const placed = await lay([directory('.git/hooks'), file('.bashrc')])
    expect(placed.map((each) => each.exists)).toEqual(['present', 'present'])
    expect(journalFiles()).toEqual([])
    await sweepPlaceholders(stateDir)
    expect(existsSync(inWorkspace('.bashrc'))).toBe(true)
  })

  it('tells the kind of what is present, not the kind that was expected', async () => {
    mkdirSync(inWorkspace('.bashrc'))
    expect(await lay([file('.bashrc')])).toMatchObject([{ exists: 'present', kind: 'directory' }])
  })

  it('protects the file when .git is the plain file of a worktree', async () => {
    writeFileSync(inWorkspace('.git'), 'gitdir: elsewhere\n')
    expect(await lay([directory('.git/hooks')])).toMatchObject([
      { exists: 'present', kind: 'file', maskedName: '.git' },
    ])
  })

  it.each(['.git', '.git/hooks'])('refuses a symlink at %s of .git/hooks/x, and makes nothing', async (link) => {
    mkdirSync(join(area, 'elsewhere'))
    if (link !== '.git') mkdirSync(inWorkspace('.git'))
    symlinkSync(join(area, 'elsewhere'), inWorkspace(link))
    await expect(lay([file('.bashrc'), file('.git/hooks/x')])).rejects.toMatchObject({
      code: 'PROTECTED',
      message: expect.stringContaining(link),
      hint: expect.stringContaining('real file'),
    })
    expect(existsSync(inWorkspace('.bashrc'))).toBe(false)
    expect(readdirSync(join(area, 'elsewhere'))).toEqual([])
    expect(journalFiles()).toEqual([])
  })

  it('refuses a dangling symlink', async () => {
    symlinkSync(join(area, 'nowhere'), inWorkspace('.bashrc'))
    await expect(lay([file('.bashrc')])).rejects.toMatchObject({ code: 'PROTECTED' })
    expect(existsSync(join(area, 'nowhere'))).toBe(false)
  })

  it.each(['..', '../x', '/etc', 'a/../b', '', '.', 'a\0b'])('refuses the name %j', async (name) => {
    await expect(lay([file(name)])).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  })

  it('names no host path in an error', async () => {
    symlinkSync('x', inWorkspace('.bashrc'))
    const error: unknown = await lay([file('.bashrc')]).catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(Error)
    const { message, hint } = error as Error & { hint: string }
    expect(`${message} ${hint}`).not.toContain(area)
  })

  it('takes the place of nothing that appears while it works, and takes back what it made', async () => {
    const afterStep = (step: LayStep): void => {
      if (step === 'inodes recorded') writeFileSync(inWorkspace('.bashrc'), 'mine')
    }
    const roots = [{ descriptor: root, hostPath: workspace, names: usual }]
    const laying = layPlaceholders({ sandboxId: newSandboxId(), stateDir, roots, afterStep })
    await expect(laying).rejects.toMatchObject({ code: 'BUSY' })
    expect(readdirSync(workspace)).toEqual(['.bashrc'])
    expect(readFileSync(inWorkspace('.bashrc'), 'utf8')).toBe('mine')
    expect(journalFiles()).toEqual([])
  })

  it('refuses what was swapped before it got its name', async () => {
    const afterStep = (step: LayStep): void => {
      if (step !== 'inodes recorded') return
      const temporary = readdirSync(workspace).find((name) => name.startsWith('.glovebox-'))!
      renameSync(inWorkspace(temporary), inWorkspace('stolen'))
      writeFileSync(inWorkspace(temporary), '')
    }
    const roots = [{ descriptor: root, hostPath: workspace, names: [file('.bashrc')] }]
    const laying = layPlaceholders({ sandboxId: newSandboxId(), stateDir, roots, afterStep })
    await expect(laying).rejects.toMatchObject({ code: 'BUSY' })
  })

  it('makes one placeholder where two mounts show the same directory', async () => {
    const sandboxId = newSandboxId()
    const again = openSync(workspace, 'r')
    const names = [file('.bashrc')]
    const roots = [root, again].map((descriptor) => ({ descriptor, hostPath: workspace, names }))
    expect(await layPlaceholders({ sandboxId, stateDir, roots })).toHaveLength(2)
    closeSync(again)
    expect(await liftPlaceholders(sandboxId, stateDir)).toEqual({ removed: 1, kept: [] })
  })

  it('may be called again, and holds what the owner of the host has removed in the meantime', async () => {
    const sandboxId = newSandboxId()
    await lay(usual, { sandboxId })
    expect(await lay(usual, { sandboxId })).toMatchObject([{}, {}, {}, { exists: 'placeholder' }])
    unlinkSync(inWorkspace('.bashrc'))
    await lay(usual, { sandboxId })
    expect(readdirSync(workspace).sort()).toEqual(['.bashrc', '.git', '.vscode'])
    expect(listJournals(stateDir).journals[0]?.entries).toHaveLength(3)
    expect(await liftPlaceholders(sandboxId, stateDir)).toEqual({ removed: 3, kept: [] })
  })

  it('goes on below a placeholder that the owner of the host has filled', async () => {
    const sandboxId = newSandboxId()
    await lay([directory('.git/hooks')], { sandboxId })
    writeFileSync(inWorkspace('.git', 'HEAD'), 'ref')
    expect(await lay([directory('.git/hooks')], { sandboxId })).toMatchObject([{ maskedName: '.git/hooks' }])
    expect(await liftPlaceholders(sandboxId, stateDir)).toEqual({ removed: 1, kept: [] })
    expect(readdirSync(inWorkspace('.git'))).toEqual(['HEAD'])
  })

  it('keeps what it held before when a later call is refused', async () => {
    const sandboxId = newSandboxId()
    await lay(usual, { sandboxId })
    symlinkSync('x', inWorkspace('.zshrc'))
    await expect(lay([file('.profile'), ...usual, file('.zshrc')], { sandboxId })).rejects.toMatchObject({
      code: 'PROTECTED',
    })
    rmSync(inWorkspace('.zshrc'))
    const afterStep = (step: LayStep): void => {
      if (step === 'inodes recorded') writeFileSync(inWorkspace('.zshrc'), 'mine')
    }
    const roots = [{ descriptor: root, hostPath: workspace, names: [...usual, file('.profile'), file('.zshrc')] }]
    await expect(layPlaceholders({ sandboxId, stateDir, roots, afterStep })).rejects.toMatchObject({ code: 'BUSY' })
    expect(readdirSync(workspace).sort()).toEqual(['.bashrc', '.git', '.vscode', '.zshrc'])
    expect(await liftPlaceholders(sandboxId, stateDir)).toEqual({ removed: 3, kept: [] })
  })

  it('writes down the control group that comes next, also where nothing is laid', async () => {
    const limitGroup = [join(area, 'group')]
    const roots = (names: readonly ProtectedName[]) => [{ descriptor: root, hostPath: workspace, names }]
    const laying = { sandboxId: newSandboxId(), stateDir, roots: roots(usual), limitGroup }
    await layPlaceholders(laying)
    expect(listJournals(stateDir).journals).toMatchObject([{ limitGroup, entries: usual.slice(1).map(() => ({})) }])
    await liftPlaceholders(laying.sandboxId, stateDir)

    writeFileSync(inWorkspace('.bashrc'), 'mine')
    const bare = { ...laying, sandboxId: newSandboxId(), roots: roots([file('.bashrc')]) }
    await layPlaceholders(bare)
    expect(listJournals(stateDir).journals).toMatchObject([{ sandboxId: bare.sandboxId, limitGroup, entries: [] }])
  })

  it('forgets a control group that will not come, when it is refused', async () => {
    const roots = [{ descriptor: root, hostPath: workspace, names: usual }]
    const limitGroup = [join(area, 'group')]
    const afterStep = (step: LayStep) =>
      step === 'inodes recorded' ? writeFileSync(inWorkspace('.bashrc'), '') : undefined
    const laying = layPlaceholders({ sandboxId: newSandboxId(), stateDir, roots, limitGroup, afterStep })
    await expect(laying).rejects.toThrow('.bashrc')
    expect(journalFiles()).toEqual([])
  })

  it('opens no more descriptors than it closes', async () => {
    const open = (): number => readdirSync('/proc/self/fd').length
    const before = open()
    const sandboxId = newSandboxId()
    await lay(usual, { sandboxId })
    await liftPlaceholders(sandboxId, stateDir)
    symlinkSync('x', inWorkspace('.git'))
    await expect(lay([file('.bashrc'), ...usual])).rejects.toMatchObject({ code: 'PROTECTED' })
    expect(open()).toBe(before)
  })

  it.skipIf(process.getuid?.() !== 0)('gives a placeholder to the owner of the mount (needs root)', async () => {
    const { chownSync } = await import('node:fs')
    chownSync(workspace, 1234, 2345)
    await lay(usual)
    for (const name of ['.git', '.bashrc']) expect(statSync(inWorkspace(name))).toMatchObject({ uid: 1234, gid: 2345 })
  })
})

describe.skipIf(process.platform !== 'linux')('liftPlaceholders (needs /proc)', () => {
  it('removes every placeholder and its journal, and is idempotent', async () => {
    const sandboxId = newSandboxId()
    await lay(usual, { sandboxId })
    expect(await liftPlaceholders(sandboxId, stateDir)).toEqual({ removed: 3, kept: [] })
    expect(readdirSync(workspace)).toEqual([])
    expect(journalFiles()).toEqual([])
    expect(await liftPlaceholders(sandboxId, stateDir)).toEqual({ removed: 0, kept: [] })
  })

  it('keeps what the user has put content into', async () => {
    const sandboxId = newSandboxId()
    await lay(usual, { sandboxId })
    writeFileSync(inWorkspace('.bashrc'), 'alias x=y\n')
    writeFileSync(inWorkspace('.git', 'HEAD'), 'ref\n')
    const { removed, kept } = await liftPlaceholders(sandboxId, stateDir)
    expect(removed).toBe(1)
    expect(kept.map((each) => each.why)).toEqual(['has content', 'has content'])
    expect(readdirSync(workspace).sort()).toEqual(['.bashrc', '.git'])
    expect(journalFiles()).toEqual([])
  })

  it('keeps what the user has put in its place, even if it is empty', async () => {
    const sandboxId = newSandboxId()
    await lay([file('.bashrc')], { sandboxId })
    writeFileSync(inWorkspace('other'), '')
    renameSync(inWorkspace('other'), inWorkspace('.bashrc'))
    expect((await liftPlaceholders(sandboxId, stateDir)).kept).toMatchObject([{ why: 'is something else' }])
    expect(existsSync(inWorkspace('.bashrc'))).toBe(true)
  })

  it('follows no symlink that a component has been swapped for', async () => {
    const sandboxId = newSandboxId()
    mkdirSync(inWorkspace('.git'))
    await lay([file('.git/config')], { sandboxId })
    renameSync(inWorkspace('.git'), join(area, 'moved'))
    symlinkSync(join(area, 'moved'), inWorkspace('.git'))
    expect((await liftPlaceholders(sandboxId, stateDir)).removed).toBe(0)
    expect(readdirSync(join(area, 'moved'))).toEqual(['config'])
  })

  it('leaves a placeholder while another sandbox uses it, in whatever order they go', async () => {
    const [first, second] = [newSandboxId(), newSandboxId()]
    await lay(usual, { sandboxId: first })
    const placed = await lay(usual, { sandboxId: second })
    expect(placed.every((each) => each.exists === 'placeholder')).toBe(true)
    expect(placed[0]?.maskedName).toBe('.git')
    expect((await liftPlaceholders(first, stateDir)).removed).toBe(0)
    expect(readdirSync(workspace).sort()).toEqual(['.bashrc', '.git', '.vscode'])
    expect((await liftPlaceholders(second, stateDir)).removed).toBe(3)
    expect(readdirSync(workspace)).toEqual([])
  })

  it('leaves nothing and loses nothing when many come and go at once', async () => {
    const comeAndGo = async (): Promise<void> => {
      const sandboxId = newSandboxId()
      const placed = await lay(usual, { sandboxId })
      for (const { maskedName } of placed) expect(existsSync(inWorkspace(maskedName))).toBe(true)
      await liftPlaceholders(sandboxId, stateDir)
    }
    await Promise.all(Array.from({ length: 12 }, comeAndGo))
    expect(readdirSync(workspace)).toEqual([])
    expect(journalFiles()).toEqual([])
  })
})

describe.skipIf(process.platform !== 'linux')('sweepPlaceholders (needs /proc)', () => {
  const steps: LayStep[] = ['journal written', 'temporaries made', 'inodes recorded', 'one named', 'all named']

  it.each(steps)('leaves nothing of a process that was killed after: %s', async (step) => {
    await layAndDieAfter(step)
    const report = await sweepPlaceholders(stateDir)
    expect(report).toMatchObject({ kept: [], unreadable: [] })
    expect(report.swept).toHaveLength(1)
    expect(readdirSync(workspace)).toEqual([])
    expect(journalFiles()).toEqual([])
  })

  it.each(steps)('keeps an empty file that the user made after a kill after: %s', async (step) => {
    // Longer than the clock of a file system stands still: what follows is told apart by its times.
    await delay(20)
    await layAndDieAfter(step, [file('.bashrc')])
    rmSync(inWorkspace('.bashrc'), { force: true })
    await delay(20)
    writeFileSync(inWorkspace('.bashrc'), '')
    giveOutAgain(statSync(inWorkspace('.bashrc'), { bigint: true }).ino)
    await sweepPlaceholders(stateDir)
    expect(readdirSync(workspace)).toEqual(['.bashrc'])
  })

  it('removes what a process left whose pid belongs to another now', async () => {
    await lay(usual, { owner: dead() })
    expect(await sweepPlaceholders(stateDir)).toMatchObject({ removed: 3 })
    expect(readdirSync(workspace)).toEqual([])
  })

  it('removes what a process left before the machine was started again, under other device numbers', async () => {
    const sandboxId = newSandboxId()
    await lay([file('.bashrc')], { sandboxId, owner: { ...ownIdentity(), bootId: 'earlier' } })
    const path = join(stateDir, 'placeholders', `${sandboxId}.json`)
    writeFileSync(path, readFileSync(path, 'utf8').replace(/"device":"\d+"/, '"device":"99"'))
    expect(await sweepPlaceholders(stateDir)).toMatchObject({ removed: 1 })
  })

  it('touches nothing of a process that lives', async () => {
    await lay(usual)
    expect(await sweepPlaceholders(stateDir)).toEqual({ swept: [], removed: 0, kept: [], unreadable: [] })
    expect(readdirSync(workspace)).toHaveLength(3)
  })

  it('leaves what a living sandbox shares with a dead one, until that one goes too', async () => {
    const living = newSandboxId()
    await lay(usual, { owner: dead() })
    await lay(usual, { sandboxId: living })
    expect(await sweepPlaceholders(stateDir)).toMatchObject({ removed: 0, kept: [] })
    expect(readdirSync(workspace)).toHaveLength(3)
    expect(await liftPlaceholders(living, stateDir)).toMatchObject({ removed: 3 })
  })

  it('keeps content and says where it is', async () => {
    await lay([file('.bashrc')], { owner: dead() })
    writeFileSync(inWorkspace('.bashrc'), 'x')
    expect(await sweepPlaceholders(stateDir)).toMatchObject({
      removed: 0,
      kept: [{ path: inWorkspace('.bashrc'), why: 'has content' }],
    })
    expect(listJournals(stateDir).journals).toEqual([])
  })

  it('forgets a workspace that is gone', async () => {
    await lay([file('.bashrc')], { owner: dead() })
    unlinkSync(inWorkspace('.bashrc'))
    rmdirSync(workspace)
    expect(await sweepPlaceholders(stateDir)).toMatchObject({ removed: 0, kept: [] })
    expect(journalFiles()).toEqual([])
  })

  it.each(['', '\0\0\0', '{}', '[]', '{"sandboxId":"x"}'])(
    'reports a journal of %j and removes nothing for it',
    async (text) => {
      const sandboxId = newSandboxId()
      await lay([file('.bashrc')], { sandboxId, owner: dead() })
      writeFileSync(join(stateDir, 'placeholders', `${sandboxId}.json`), text)
      expect(await sweepPlaceholders(stateDir)).toMatchObject({
        swept: [],
        removed: 0,
        unreadable: [`${sandboxId}.json`],
      })
      expect(existsSync(inWorkspace('.bashrc'))).toBe(true)
    },
  )

  it('clears away half-made files of its own directory', async () => {
    await sweepPlaceholders(stateDir)
    const at = (name: string): string => join(stateDir, 'placeholders', name)
    writeFileSync(at('sbx_00000001.json.abc.tmp'), '{')
    await sweepPlaceholders(stateDir)
    expect(journalFiles()).toEqual([])
  })
})
