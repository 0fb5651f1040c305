import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openArtifact } from './artifact-file.ts'
import { codeOf, groundForEach } from './ground.test-support.ts'

const ground = groundForEach()

async function read(directory: string, path: string): Promise<string> {
  const file = openArtifact(directory, path)
  try {
    const pieces: Buffer[] = []
    for await (const piece of file.bytes()) pieces.push(Buffer.from(piece))
    return Buffer.concat(pieces).toString()
  } finally {
    file.close()
  }
}

describe('openArtifact', () => {
  it('reads a file by the name in the manifest, and by the name that the guest knows', async () => {
    const { directory } = await ground().create()
    mkdirSync(join(directory, 'deliverables', 'deep'))
    writeFileSync(join(directory, 'deliverables', 'deep', 'a.md'), 'text')
    expect(await read(directory, 'deliverables/deep/a.md')).toBe('text')
    expect(await read(directory, '/deliverables/deep/a.md')).toBe('text')
    expect(openArtifact(directory, '/deliverables/deep/a.md')).toMatchObject({
      path: 'deliverables/deep/a.md',
      size: 4,
    })
  })

  it('a link is not followed, neither at the end nor on the way', async () => {
    const { directory } = await ground().create()
    symlinkSync('../prompt.md', join(directory, 'workspace', 'link'))
    symlinkSync('..', join(directory, 'workspace', 'up'))
    expect(await codeOf(() => read(directory, 'workspace/link'))).toBe('LINK_REFUSED')
    expect(await codeOf(() => read(directory, 'workspace/up/prompt.md'))).toBe('LINK_REFUSED')
  })

  it('refuses what is no regular file, without waiting for it', async () => {
    const { directory } = await ground().create()
    execFileSync('mkfifo', [join(directory, 'workspace', 'pipe')])
    mkdirSync(join(directory, 'workspace', 'dir'))
    writeFileSync(join(directory, 'workspace', 'file'), '')
    expect(await codeOf(() => read(directory, 'workspace/pipe'))).toBe('NOT_A_FILE')
    expect(await codeOf(() => read(directory, 'workspace/dir'))).toBe('IS_A_DIRECTORY')
    expect(await codeOf(() => read(directory, 'workspace/file/x'))).toBe('NOT_A_DIRECTORY')
    expect(await codeOf(() => read(directory, 'workspace/none'))).toBe('NOT_FOUND')
  })

  it.each([
    'prompt.md',
    'workspace',
    'workspace/',
    'workspace/../prompt.md',
    'workspace//a',
    '../x',
    '',
    'logs/run.lock',
  ])('refuses %j, which is no artifact', async (path) => {
    const { directory } = await ground().create()
    expect(await codeOf(() => read(directory, path))).toBe('INVALID_PATH')
  })
})
