import { createHash } from 'node:crypto'
import { existsSync, lstatSync, mkdirSync, readdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { execManifestSchema } from '../contract/exec-record.ts'
import type { ExecRow } from '../contract/store.ts'
import { isOverLimit, trimToLimit } from './artifact-limit.ts'
import { openArtifact } from './artifacts.ts'
import { canLimitDescriptors, withDescriptors } from './descriptors.test-support.ts'
import { makeGround, type Ground } from './ground.test-support.ts'
import { mostDepth } from './guest-tree.ts'
import { makeManifest } from './manifest.ts'

let ground: Ground
let row: ExecRow
let files: string
beforeEach(() => {
  ground = makeGround()
  row = ground.exec()
  files = ground.files(row)
})
afterEach(() => ground.remove())

const manifest = (overLimit = false) => makeManifest({ root: ground.root, name: row, overLimit, now: () => new Date() })

describe('the manifest of an exec', () => {
  it('names every file with its size and hash, however deep', async () => {
    mkdirSync(join(files, 'a/b'), { recursive: true })
    writeFileSync(join(files, 'a/b/c.txt'), 'hello')
    writeFileSync(Buffer.concat([Buffer.from(`${files}/`), Buffer.from([0xff])]), 'x')
    const made = execManifestSchema.parse(await manifest())
    expect(made.entries.map(({ path, kind }) => [path, kind])).toEqual([
      ['a', 'directory'],
      ['a/b', 'directory'],
      ['a/b/c.txt', 'file'],
      ['\ufffd', 'file'],
    ])
    expect(made.entries[2]).toMatchObject({ size: 5, sha256: createHash('sha256').update('hello').digest('hex') })
    expect(made.entries[3]?.path_base64).toBe('/w==')
    expect(made).toMatchObject({ complete: true, over_limit: false, total_bytes: 6 })
  })

  it('a symlink that the guest left is listed and never followed', async () => {
    writeFileSync(join(ground.outside, 'secret'), 'of the host')
    symlinkSync(join(ground.outside, 'secret'), join(files, 'link'))
    symlinkSync(ground.outside, join(files, 'directory'))
    const { entries } = await manifest()
    expect(entries).toHaveLength(2)
    expect(entries.every(({ kind, sha256, target }) => kind === 'symlink' && sha256 === null && target !== null)).toBe(
      true,
    )
    for (const path of ['link', 'directory', 'directory/secret'])
      await expect(openArtifact(ground.root, row, path), path).rejects.toThrow('link')
  })

  it.skipIf(!canLimitDescriptors)(
    'is not made without a hash for want of a descriptor of ours [needs prlimit]',
    async () => {
      writeFileSync(join(files, 'one'), 'hello')
      await expect(withDescriptors(2, () => manifest())).rejects.toMatchObject({ code: 'EMFILE' })
      expect(await manifest()).toMatchObject({ complete: true })
    },
  )

  it('a manifest of an exec that left something out says so', async () => {
    expect(await manifest(true)).toMatchObject({ complete: false, over_limit: true })
    let deep = files
    for (let level = 0; level <= mostDepth; level++) mkdirSync((deep = join(deep, 'd')))
    writeFileSync(join(deep, 'hidden'), 'x')
    expect(await manifest()).toMatchObject({ complete: false })
  })
})

describe('the limit on artifacts', () => {
  it('keeps what fits, in the order of names, and removes the rest', async () => {
    for (const [name, size] of [
      ['a', 40],
      ['b', 70],
      ['c', 60],
    ] as const)
      writeFileSync(join(files, name), 'x'.repeat(size))
    expect(await isOverLimit(files, 100)).toBe(true)
    expect(await trimToLimit(files, 100)).toEqual({ wasOver: true })
    expect(readdirSync(files)).toEqual(['a', 'c'])
    expect(await isOverLimit(files, 100)).toBe(false)
    expect(await trimToLimit(files, 100)).toEqual({ wasOver: false })
  })

  it('is not passed by names and links that are longer together than can be listed', async () => {
    const link = (from: number, to: number): void => {
      for (let number = from; number < to; number++) symlinkSync('t'.repeat(4090), join(files, String(number)))
    }
    link(0, 4090)
    expect(await isOverLimit(files, 1024)).toBe(false)
    expect(await manifest()).toMatchObject({ complete: true })
    link(4090, 4110)
    expect(await isOverLimit(files, 1024)).toBe(true)
    expect(await manifest()).toMatchObject({ complete: false })
    expect(await trimToLimit(files, 1024)).toEqual({ wasOver: true })
    expect(readdirSync(files)).toEqual([])
  })

  it('counts a sparse file as long as it reads', async () => {
    writeFileSync(join(files, 'sparse'), '')
    truncateSync(join(files, 'sparse'), 10 * 1024 ** 3)
    expect(await isOverLimit(files, 1024)).toBe(true)
    await trimToLimit(files, 1024)
    expect(existsSync(join(files, 'sparse'))).toBe(false)
  })

  it('is not passed by going deeper than is looked, nor through a link', async () => {
    let deep = files
    for (let level = 0; level <= mostDepth; level++) mkdirSync((deep = join(deep, 'd')))
    writeFileSync(join(deep, 'hidden'), 'x'.repeat(5000))
    expect(await isOverLimit(files, 1024)).toBe(true)
    expect(await trimToLimit(files, 1024)).toEqual({ wasOver: true })
    expect(readdirSync(files)).toEqual([])
    writeFileSync(join(ground.outside, 'large'), 'x'.repeat(5000))
    symlinkSync(join(ground.outside, 'large'), join(files, 'link'))
    expect(await trimToLimit(files, 1024)).toEqual({ wasOver: false })
    expect(lstatSync(join(ground.outside, 'large')).size).toBe(5000)
  })
})
