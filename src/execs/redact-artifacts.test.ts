import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openRedaction } from '../vaults/redaction/redaction.ts'
import { canLimitDescriptors, withDescriptors } from './descriptors.test-support.ts'
import { redactArtifacts } from './redact-artifacts.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'glovebox-artifacts-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const value = 'sesame-opens'
const knowing = () => {
  const redaction = openRedaction()
  redaction.learn('keys/token', Buffer.from(value))
  return redaction
}

describe('artifacts of an exec with a secret', () => {
  it('lose the value in place, and nothing else', async () => {
    mkdirSync(join(root, 'files', 'deep'), { recursive: true })
    const large = Buffer.concat([Buffer.alloc(256 * 1024 - 5, 'x'), Buffer.from(value), Buffer.alloc(300_000, 'y')])
    writeFileSync(join(root, 'files', 'deep', 'large'), large)
    writeFileSync(join(root, 'files', 'plain'), 'nothing of it')
    writeFileSync(join(root, 'files', 'empty'), '')
    chmodSync(join(root, 'files', 'plain'), 0o444)
    await redactArtifacts(join(root, 'files'), knowing())
    const after = readFileSync(join(root, 'files', 'deep', 'large'))
    expect(after.length).toBe(large.length)
    expect(after.subarray(256 * 1024 - 6, 256 * 1024 + 8).toString()).toBe(`x${'*'.repeat(12)}y`)
    expect(after.includes(value)).toBe(false)
    expect(readFileSync(join(root, 'files', 'empty'))).toHaveLength(0)
  })

  it('are reached by descriptor: a link is left alone, and what it leads to', async () => {
    mkdirSync(join(root, 'files'))
    writeFileSync(join(root, 'outside'), value)
    symlinkSync('../outside', join(root, 'files', 'link'))
    await redactArtifacts(join(root, 'files'), knowing())
    expect(readFileSync(join(root, 'outside'), 'utf8')).toBe(value)
  })

  it('are redacted under each of their names', async () => {
    mkdirSync(join(root, 'files'))
    writeFileSync(join(root, 'files', 'one'), value)
    linkSync(join(root, 'files', 'one'), join(root, 'files', 'two'))
    await redactArtifacts(join(root, 'files'), knowing())
    expect(readFileSync(join(root, 'files', 'two'), 'utf8')).toBe('*'.repeat(12))
  })

  it('lose the value in their names too, also one that a name and what it lies in have together', async () => {
    const redaction = knowing()
    redaction.learn('keys/other', Buffer.from('parts/of-one'))
    const files = join(root, 'files')
    mkdirSync(join(files, `a-${value}`, 'parts'), { recursive: true })
    writeFileSync(join(files, `a-${value}`, 'parts', 'of-one'), `its own ${value}`)
    writeFileSync(join(files, `a-${'*'.repeat(12)}`), 'had that name')
    symlinkSync(`/somewhere/${value}/else`, join(files, 'link'))
    symlinkSync('/somewhere/else', join(files, 'plain'))
    await redactArtifacts(files, redaction)
    expect((readdirSync(files, { recursive: true }) as string[]).toSorted()).toEqual([
      `a-${'*'.repeat(12)}`,
      `a-${'*'.repeat(12)}-1`,
      `a-${'*'.repeat(12)}-1/parts`,
      `a-${'*'.repeat(12)}-1/parts/${'*'.repeat(6)}`,
      'link',
      'plain',
    ])
    expect(readFileSync(join(files, `a-${'*'.repeat(12)}`), 'utf8')).toBe('had that name')
    expect(readFileSync(join(files, `a-${'*'.repeat(12)}-1`, 'parts', '******'), 'utf8')).toBe(
      `its own ${'*'.repeat(12)}`,
    )
    expect(readlinkSync(join(files, 'link'))).toBe(`/somewhere/${'*'.repeat(12)}/else`)
    expect(readlinkSync(join(files, 'plain'))).toBe('/somewhere/else')
  })

  it.skipIf(!canLimitDescriptors)('are not removed for want of a descriptor of ours [needs prlimit]', async () => {
    mkdirSync(join(root, 'files'))
    writeFileSync(join(root, 'files', 'one'), value)
    const redacting = withDescriptors(2, () => redactArtifacts(join(root, 'files'), knowing()))
    await expect(redacting).rejects.toMatchObject({ code: 'EMFILE' })
    await redactArtifacts(join(root, 'files'), knowing())
    expect(readFileSync(join(root, 'files', 'one'), 'utf8')).toBe('*'.repeat(12))
  })

  it('are not even looked at as long as nothing was handed out', async () => {
    await expect(redactArtifacts(join(root, 'missing'), openRedaction())).resolves.toBeUndefined()
  })
})
