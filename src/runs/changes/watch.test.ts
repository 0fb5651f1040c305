import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { describe, expect, it } from 'vitest'
import { changeSetSchema, type ChangeSet } from '../../contract/recorded-action.ts'
import { readBlob } from './blobs.ts'
import { sha256, treesForEach } from './ground.test-support.ts'
import { findStart } from './history.ts'
import { openChangeWatch, type ChangeLimits } from './watch.ts'

const ground = treesForEach()
const open = (limits: Partial<ChangeLimits> = {}) => openChangeWatch({ directory: ground().directory, limits })
const at = (path: string): string => ground().place(path)
const brief = (set: ChangeSet): readonly string[] =>
  set.changes.map(({ change, kind, path }) => `${change} ${kind} ${path}`)

describe('openChangeWatch', () => {
  it('tells what was created, changed and deleted since the last look, in both trees', async () => {
    writeFileSync(at('workspace/old'), 'old')
    writeFileSync(at('workspace/gone'), 'gone')
    const watch = await open()
    writeFileSync(at('workspace/old'), 'new')
    rmSync(at('workspace/gone'))
    mkdirSync(at('deliverables/report'))
    writeFileSync(at('deliverables/report/a.md'), '# A\n')
    const set = await watch.look()
    expect(changeSetSchema.parse(set)).toEqual(set)
    expect(set).toMatchObject({ by: 'walk', complete: true, stopped: [] })
    expect(brief(set)).toEqual([
      'created directory deliverables/report',
      'created file deliverables/report/a.md',
      'deleted file workspace/gone',
      'changed file workspace/old',
    ])
    expect(set.changes[3]).toMatchObject({
      before_sha256: sha256('old'),
      after_sha256: sha256('new'),
      size: 3,
      kept: true,
    })
    expect(await watch.look()).toMatchObject({ complete: true, changes: [] })
  })

  // In /dev/shm, where a kernel that tells times finely gives such a directory a time that it had before.
  it('finds what came into a directory at the moment at which something was taken out of it', async () => {
    mkdirSync(at('workspace/d'))
    for (let round = 0; round < 20; round++) {
      mkdirSync(at('workspace/d/first'))
      writeFileSync(at('workspace/d/second'), '')
      const watch = await open()
      rmdirSync(at('workspace/d/first'))
      expect(brief(await watch.look())).toEqual(['deleted directory workspace/d/first'])
      unlinkSync(at('workspace/d/second'))
      mkdirSync(at('workspace/d/third'))
      expect(brief(await watch.look())).toEqual([
        'deleted file workspace/d/second',
        'created directory workspace/d/third',
      ])
      rmdirSync(at('workspace/d/third'))
    }
  })

  it('keeps the content of what changed under its hash, before and after', async () => {
    writeFileSync(at('workspace/a'), 'before')
    const watch = await open()
    writeFileSync(at('workspace/a'), 'after')
    await watch.look()
    expect(readBlob(ground().directory, sha256('before'))?.toString()).toBe('before')
    expect(readBlob(ground().directory, sha256('after'))?.toString()).toBe('after')
  })

  it('writes down where the run began', async () => {
    writeFileSync(at('workspace/a'), 'a', { mode: 0o600 })
    await open()
    expect(findStart(ground().directory)).toEqual({
      by: 'walk',
      complete: true,
      stopped: [],
      lower: [],
      entries: [
        {
          path: 'workspace/a',
          path_base64: null,
          kind: 'file',
          sha256: sha256('a'),
          size: 1,
          mode: 0o600,
          target: null,
          kept: true,
        },
      ],
    })
  })

  it('sees a change that leaves size and modification time as they were', async () => {
    writeFileSync(at('workspace/a'), 'one')
    utimesSync(at('workspace/a'), 1, 1)
    const watch = await open()
    writeFileSync(at('workspace/a'), 'two')
    utimesSync(at('workspace/a'), 1, 1)
    expect(brief(await watch.look())).toEqual(['changed file workspace/a'])
  })

  it('does not call a file changed that was only touched, or written with the same bytes', async () => {
    writeFileSync(at('workspace/a'), 'one')
    const watch = await open()
    utimesSync(at('workspace/a'), 1, 1)
    writeFileSync(at('workspace/a'), 'one')
    expect(await watch.look()).toMatchObject({ complete: true, changes: [] })
  })

  it('tells a mode that changed', async () => {
    writeFileSync(at('workspace/a'), 'a')
    const watch = await open()
    chmodSync(at('workspace/a'), 0o755)
    const { changes } = await watch.look()
    expect(changes).toMatchObject([
      { change: 'changed', mode: 0o755, before_sha256: sha256('a'), after_sha256: sha256('a') },
    ])
  })

  it('tells a directory that became a file, and what was in it', async () => {
    mkdirSync(at('workspace/d'))
    writeFileSync(at('workspace/d/a'), 'a')
    const watch = await open()
    rmSync(at('workspace/d'), { recursive: true })
    writeFileSync(at('workspace/d'), 'now a file')
    expect(brief(await watch.look())).toEqual(['changed file workspace/d', 'deleted file workspace/d/a'])
  })

  it('a symlink is recorded as a link and never followed', async () => {
    const watch = await open()
    symlinkSync('/etc/hostname', at('workspace/link'))
    const { changes } = await watch.look()
    expect(changes).toMatchObject([
      { kind: 'symlink', target: '/etc/hostname', after_sha256: sha256('/etc/hostname'), kept: false },
    ])
    expect(existsSync(at('archive/blobs'))).toBe(false)
  })

  it('a directory that was swapped for a link is a link, and nothing behind it is read', async () => {
    mkdirSync(at('workspace/d'))
    writeFileSync(at('workspace/d/a'), 'a')
    mkdirSync(at('outside'))
    writeFileSync(at('outside/a'), 'secret')
    writeFileSync(at('outside/b'), 'secret')
    const watch = await open()
    rmSync(at('workspace/d'), { recursive: true })
    symlinkSync('../outside', at('workspace/d'))
    expect(brief(await watch.look())).toEqual(['changed symlink workspace/d', 'deleted file workspace/d/a'])
    expect(readBlob(ground().directory, sha256('secret'))).toBeUndefined()
  })

  it('a FIFO is listed and not opened', async () => {
    const watch = await open()
    spawnSync('mkfifo', [at('workspace/pipe')])
    expect(brief(await watch.look())).toEqual(['created other workspace/pipe'])
    expect(await watch.look()).toMatchObject({ changes: [] })
  })

  it('keeps two names apart that look alike because neither is UTF-8', async () => {
    const watch = await open()
    const raw = (byte: number): Buffer => Buffer.concat([Buffer.from(at('workspace/')), Buffer.from([byte])])
    writeFileSync(raw(0xfe), 'one')
    writeFileSync(raw(0xff), 'two')
    const { changes } = await watch.look()
    expect(changes.map(({ path }) => path)).toEqual(['workspace/\ufffd', 'workspace/\ufffd'])
    expect(changes.map(({ path_base64 }) => Buffer.from(path_base64 ?? '', 'base64').at(-1))).toEqual([0xfe, 0xff])
    rmSync(raw(0xfe))
    expect((await watch.look()).changes).toMatchObject([{ change: 'deleted', before_sha256: sha256('one') }])
  })

  it('a change set that may have missed something says so', async () => {
    const watch = await open()
    expect(await watch.look({ concurrent: true })).toMatchObject({ complete: false, stopped: ['concurrent'] })
    expect(await watch.look()).toMatchObject({ complete: true, stopped: [] })
  })

  it('a larger file is hashed and not kept, and one beyond the budget is listed without a hash', async () => {
    const watch = await open({ maxFileBytes: 10, maxHashedBytes: 100 })
    writeFileSync(at('workspace/large'), 'x'.repeat(11))
    const first = await watch.look()
    expect(first).toMatchObject({ complete: true })
    expect(first.changes).toMatchObject([{ after_sha256: sha256('x'.repeat(11)), kept: false, size: 11 }])
    writeFileSync(at('workspace/larger'), 'x'.repeat(101))
    const second = await watch.look()
    expect(second).toMatchObject({ complete: false, stopped: ['bytes'] })
    expect(second.changes).toMatchObject([{ path: 'workspace/larger', after_sha256: null, size: 101 }])
    appendFileSync(at('workspace/larger'), 'x')
    expect((await watch.look()).changes).toMatchObject([{ change: 'changed', after_sha256: null, size: 102 }])
  })

  it('keeps no more contents than the limit lets it, and says of each whether it did', async () => {
    const watch = await open({ maxKeptBytes: 1024 })
    for (const name of ['a', 'b', 'c']) writeFileSync(at(`workspace/${name}`), name)
    expect((await watch.look()).changes.filter(({ kept }) => kept)).toHaveLength(1)
  })

  it('a tree of too many entries is said not to be seen whole, at every look', async () => {
    const watch = await open({ maxEntries: 3 })
    for (const name of ['a', 'b', 'c', 'd', 'e']) writeFileSync(at(`workspace/${name}`), name)
    const set = await watch.look()
    expect(set).toMatchObject({ complete: false, stopped: ['entries'] })
    expect(set.changes).toHaveLength(3)
    expect(await watch.look()).toMatchObject({ complete: false, stopped: ['entries'], changes: [] })
  })

  it('a tree that is too deep is said not to be seen whole, at every look', async () => {
    const watch = await open({ maxDepth: 2 })
    mkdirSync(at('workspace/a/b/c/d'), { recursive: true })
    const set = await watch.look()
    expect(set).toMatchObject({ complete: false, stopped: ['depth'] })
    expect(brief(set)).toEqual(['created directory workspace/a', 'created directory workspace/a/b'])
    expect(await watch.look()).toMatchObject({ complete: false, stopped: ['depth'], changes: [] })
  })

  it('a path longer than the kernel takes is reached all the same', async () => {
    const name = 'n'.repeat(250)
    let place = at('workspace')
    const watch = await open()
    // Built from below: each level is made in its own short place and then moved under the next.
    for (let level = 0; level < 20; level++) {
      mkdirSync(at('workspace/next'))
      if (level > 0) renameSync(place, `${at('workspace/next')}/${name}`)
      else writeFileSync(at('workspace/next/deep'), 'deep')
      renameSync(at('workspace/next'), at(`workspace/${name}`))
      place = at(`workspace/${name}`)
    }
    const set = await watch.look()
    expect(set).toMatchObject({ complete: true })
    expect(set.changes).toHaveLength(21)
    expect(await watch.look()).toMatchObject({ complete: true, changes: [] })
    // Node's own removal takes no path so long.
    spawnSync('rm', ['-rf', place])
  })

  it('one look waits for the other, and each change is told once', async () => {
    const watch = await open()
    writeFileSync(at('workspace/a'), 'a')
    const sets = await Promise.all([watch.look(), watch.look(), watch.look()])
    expect(sets.map(({ changes }) => changes.length)).toEqual([1, 0, 0])
  })

  it('leaves nothing but base.json and blobs in the archive', async () => {
    const watch = await open()
    writeFileSync(at('workspace/a'), 'a')
    await watch.look()
    expect(
      spawnSync('find', [at('archive'), '-type', 'f', '-printf', '%P\n'])
        .stdout.toString()
        .split('\n')
        .toSorted(),
    ).toEqual(['', 'base.json', `blobs/${sha256('a')}`])
    expect(readFileSync(at('archive/base.json'), 'utf8')).toMatch(/\n$/)
  })
})
