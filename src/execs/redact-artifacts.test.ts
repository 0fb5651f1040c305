import { chmodSync, linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openRedaction } from '../vaults/redaction/redaction.ts'
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

  it('are not even looked at as long as nothing was handed out', async () => {
    await expect(redactArtifacts(join(root, 'missing'), openRedaction())).resolves.toBeUndefined()
  })
})
