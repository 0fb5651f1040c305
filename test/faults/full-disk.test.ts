// A full disk and a read-only one, as real filesystems in a throw-away mount namespace.
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { groundForEach, onLinux } from '../fixtures/temporary-mounts.ts'

const ground = groundForEach()
const built = fileURLToPath(new URL('../../dist/paths/host-files.js', import.meta.url))

const script = `
  const { openHostFiles } = await import(process.argv[1])
  const { execFileSync } = await import('node:child_process')
  const { readFileSync, readdirSync } = await import('node:fs')
  const [hostPath, lockDir] = process.argv.slice(2)
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', hostPath])
  const mounts = [{ guestPath: '/workspace', hostPath, mode: 'rw' }]
  const files = openHostFiles({ mounts, protect: [], denyRead: [], lockDir })
  const code = (work) => work.then(() => 'done', (error) => error.code)
  const big = Buffer.alloc(1_000_000)
  await files.write('/workspace/a', Buffer.from('old'))
  const answers = [
    await code(files.write('/workspace/a', big)),
    await code(files.append('/workspace/a', big)),
    await code(files.write('/workspace/new', big)),
    readFileSync(hostPath + '/a', 'utf8'),
    readdirSync(hostPath).join(),
    await code(files.remove('/workspace/a')),
  ]
  execFileSync('mount', ['-o', 'remount,ro', hostPath])
  answers.push(await code(files.write('/workspace/a', Buffer.from('x'))), await code(files.mkdir('/workspace/d')))
  console.log(JSON.stringify(answers))
`

describe.skipIf(!onLinux)('a disk', () => {
  it('that is full refuses writes, keeps the old bytes and no temporary file; one that is read-only says so', () => {
    const unshare = process.geteuid?.() === 0 ? ['-m'] : ['-Urm']
    const argv = [process.execPath, '--input-type=module', '-e', script, built, ground().inside, ground().lockDir]
    const answers: unknown = JSON.parse(execFileSync('unshare', [...unshare, ...argv], { encoding: 'utf8' }))
    expect(answers).toEqual(['NO_SPACE', 'NO_SPACE', 'NO_SPACE', 'old', 'a', 'done', 'READ_ONLY', 'READ_ONLY'])
  })
})
