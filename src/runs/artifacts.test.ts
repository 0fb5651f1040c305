import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { appendFileSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  artifactManifestSchema,
  type Artifact,
  type ArtifactLimits,
  type ArtifactManifest,
} from '../contract/artifact.ts'
import { artifactManifest, defaultArtifactLimits } from './artifacts.ts'
import { checkDeliverables } from './deliverables.ts'
import { groundForEach } from './ground.test-support.ts'
import { hashBuffers, hashFile } from './hash-file.ts'

const ground = groundForEach()

interface Trees {
  readonly workspace: string
  readonly deliverables: string
  survey(limits?: Partial<ArtifactLimits>): Promise<ArtifactManifest>
}

function trees(): Trees {
  const [workspace, deliverables] = ['workspace', 'deliverables'].map((name) => join(ground().directory, name)) as [
    string,
    string,
  ]
  mkdirSync(workspace)
  mkdirSync(deliverables)
  const survey = async (limits: Partial<ArtifactLimits> = {}): Promise<ArtifactManifest> =>
    artifactManifestSchema.parse(
      await artifactManifest({ workspace, deliverables, runId: 'r', limits: { ...defaultArtifactLimits, ...limits } }),
    )
  return { workspace, deliverables, survey }
}

const sha256 = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
const named = (manifest: ArtifactManifest, path: string): Artifact | undefined =>
  manifest.entries.find((entry) => entry.path === path)

describe('an artifact manifest', () => {
  it('lists every file with path, size, hash, mode, kind and role', async () => {
    const { workspace, deliverables, survey } = trees()
    mkdirSync(join(workspace, 'src', 'deep'), { recursive: true })
    writeFileSync(join(workspace, 'src', 'deep', 'a.txt'), 'hello', { mode: 0o640 })
    writeFileSync(join(deliverables, 'big'), Buffer.alloc(3_000_000, 7))
    const manifest = await survey()
    expect(manifest).toMatchObject({
      complete: true,
      stopped: [],
      totals: { entries: 4, files: 2, bytes: 3_000_005, hashed_bytes: 3_000_005 },
    })
    expect(manifest.entries.map(({ path }) => path)).toEqual([
      'deliverables/big',
      'workspace/src',
      'workspace/src/deep',
      'workspace/src/deep/a.txt',
    ])
    expect(named(manifest, 'workspace/src/deep/a.txt')).toMatchObject({
      size: 5,
      sha256: sha256('hello'),
      kind: 'file',
      role: 'workspace',
      mode: 0o640,
    })
    expect(named(manifest, 'deliverables/big')).toMatchObject({
      sha256: sha256(Buffer.alloc(3_000_000, 7)),
      role: 'deliverable',
    })
  })

  it('a symlink is recorded as a link and never followed', async () => {
    const { workspace, survey } = trees()
    symlinkSync('/etc/passwd', join(workspace, 'secret'))
    symlinkSync('/etc', join(workspace, 'etc'))
    symlinkSync('.', join(workspace, 'loop'))
    const manifest = await survey()
    expect(manifest.entries.map(({ path, kind, target, sha256: hash }) => [path, kind, target, hash])).toEqual([
      ['workspace/etc', 'symlink', '/etc', null],
      ['workspace/loop', 'symlink', '.', null],
      ['workspace/secret', 'symlink', '/etc/passwd', null],
    ])
  })

  it('shows what is neither file nor directory without opening it, and keeps names that are no UTF-8', async () => {
    const { workspace, survey } = trees()
    execFileSync('mkfifo', [join(workspace, 'pipe')])
    writeFileSync(Buffer.concat([Buffer.from(`${workspace}/`), Buffer.from([0x61, 0xff])]), 'x')
    const manifest = await survey()
    expect(named(manifest, 'workspace/pipe')).toMatchObject({ kind: 'other', sha256: null })
    const odd = manifest.entries.find(({ path_base64 }) => path_base64 !== null)
    expect(Buffer.from(odd?.path_base64 ?? '', 'base64')).toEqual(
      Buffer.concat([Buffer.from('workspace/a'), Buffer.from([0xff])]),
    )
    expect(odd?.sha256).toBe(sha256('x'))
  })

  it('an artifact manifest that left something out says so and why', async () => {
    const { workspace, survey } = trees()
    mkdirSync(join(workspace, 'a/b/c/d'), { recursive: true })
    for (let count = 0; count < 20; count++) writeFileSync(join(workspace, `f${count}`), 'x'.repeat(10))
    expect(await survey({ max_entries: 7 })).toMatchObject({
      complete: false,
      stopped: ['entries'],
      totals: { entries: 7 },
    })
    const shallow = await survey({ max_depth: 2 })
    expect(shallow).toMatchObject({ complete: false, stopped: ['depth'] })
    expect(named(shallow, 'workspace/a/b')).toMatchObject({ skipped: 'depth' })
    expect(named(shallow, 'workspace/a/b/c')).toBeUndefined()
    const thrifty = await survey({ max_bytes: 55 })
    expect(thrifty).toMatchObject({ complete: false, stopped: ['bytes'], totals: { files: 20, hashed_bytes: 50 } })
    expect(thrifty.entries.filter(({ skipped }) => skipped === 'bytes')).toHaveLength(15)
    expect(await survey({ max_entries: 24 })).toMatchObject({ complete: true, stopped: [] })
  })

  it('holds no descriptor when it is done, however deep the tree', async () => {
    const { workspace, survey } = trees()
    mkdirSync(join(workspace, Array.from({ length: 300 }, () => 'd').join('/')), { recursive: true })
    const before = readdirSync('/proc/self/fd').length
    expect((await survey()).stopped).toEqual(['depth'])
    expect(readdirSync('/proc/self/fd').length).toBe(before)
  })

  it('gives no hash for a file that changes while it is read', async () => {
    const { workspace } = trees()
    const path = join(workspace, 'growing')
    writeFileSync(path, Buffer.alloc(8_000_000))
    const { open } = await import('node:fs/promises')
    const file = await open(path, 'r')
    const hashing = hashFile(file.fd, hashBuffers())
    appendFileSync(path, 'more')
    expect((await hashing).changed).toBe(true)
    expect((await hashFile(file.fd, hashBuffers())).changed).toBe(false)
    await file.close()
  })
})

describe('a required deliverable', () => {
  it('does not count when it is missing, empty, a link, a directory or elsewhere', async () => {
    const { workspace, deliverables, survey } = trees()
    writeFileSync(join(deliverables, 'good'), 'x')
    writeFileSync(join(deliverables, 'empty'), '')
    mkdirSync(join(deliverables, 'directory'))
    symlinkSync('/etc/passwd', join(deliverables, 'out'))
    symlinkSync('good', join(deliverables, 'within'))
    symlinkSync('/etc', join(deliverables, 'etc'))
    writeFileSync(join(workspace, 'elsewhere'), 'x')
    const manifest = await survey()
    const reasonFor = (path: string, allow_empty = false): string | undefined =>
      checkDeliverables([{ path, allow_empty }], manifest)[0]?.reason
    expect(reasonFor('good')).toBeUndefined()
    expect(reasonFor('/deliverables/good')).toBeUndefined()
    expect(reasonFor('deliverables/./x/../good')).toBeUndefined()
    expect(reasonFor('missing')).toBe('deliverable_missing')
    expect(reasonFor('empty')).toBe('deliverable_empty')
    expect(reasonFor('empty', true)).toBeUndefined()
    expect(reasonFor('directory')).toBe('deliverable_not_a_file')
    expect(reasonFor('out')).toBe('deliverable_symlink')
    expect(reasonFor('within')).toBe('deliverable_symlink')
    expect(reasonFor('etc/passwd')).toBe('deliverable_symlink')
    expect(reasonFor('elsewhere')).toBe('deliverable_outside')
    expect(reasonFor('../workspace/elsewhere')).toBe('deliverable_outside')
    expect(reasonFor('/workspace/elsewhere')).toBe('deliverable_outside')
    expect(
      checkDeliverables(
        [
          { path: 'missing', allow_empty: false },
          { path: 'empty', allow_empty: false },
        ],
        manifest,
      ),
    ).toHaveLength(2)
  })
})
