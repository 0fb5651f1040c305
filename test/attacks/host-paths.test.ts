// Attacks on the host's side of the file actions, each beside a control in which the plain system call does the harm.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { isGloveboxError } from '../../src/errors/error.ts'
import { openRoot } from '../../src/paths/descriptor.ts'
import { settle } from '../../src/paths/directories.ts'
import { bytes, groundForEach, guest, onLinux, refused, secret, textOf } from '../fixtures/temporary-mounts.ts'
import { describeAsRoot, describeWhere } from './describe-where.ts'

const ground = groundForEach()
const protect = ['.git/hooks', '.bashrc']

// Makes and removes the second name as fast as it can, as a guest with a descriptor of the file could.
const linker = `
  const { linkSync, unlinkSync, writeSync } = require('node:fs')
  const [from, to] = process.argv.slice(1)
  writeSync(1, 'ready')
  for (;;) { linkSync(from, to); unlinkSync(to) }
`

describeWhere(onLinux, 'files are walked by descriptor on Linux')('host paths', () => {
  it('a NUL in a path is refused', async () => {
    ground().put('a')
    await refused('INVALID_PATH', ground().open().read(guest('/workspace/a\0.txt'), { maxBytes: 9 }))
    // Control: without the NUL the name is good.
    expect(await textOf(ground().open(), '/workspace/a')).toBe('x')
  })

  it('a case variant of a protected name is refused', async () => {
    await refused('PROTECTED', ground().open({ protect }).write(guest('/workspace/.GIT/Hooks/pre-commit'), bytes('x')))
    // Control: where nothing is protected the file comes into being.
    await ground().open().write(guest('/workspace/.GIT/Hooks/pre-commit'), bytes('x'))
    expect(existsSync(ground().host('.GIT/Hooks/pre-commit'))).toBe(true)
  })

  it('a FIFO does not hang a read', async () => {
    execFileSync('mkfifo', [ground().host('pipe')])
    await refused('NOT_A_FILE', ground().open().read(guest('/workspace/pipe'), { maxBytes: 9 }))
    // Control: a plain reader hangs.
    expect(() => execFileSync('cat', [ground().host('pipe')], { timeout: 200 })).toThrow('ETIMEDOUT')
  })

  it('a hidden directory stays hidden under another name', async () => {
    ground().put('d/secrets/key')
    const hiding = ground().open({ denyRead: ['/workspace/d/secrets'] })
    renameSync(ground().host('d'), ground().host('e'))
    await refused('NOT_PERMITTED', hiding.read(guest('/workspace/e/secrets/key'), { maxBytes: 9 }))
    // Control: a rule by name alone, made after the move, lets it through.
    const byName = ground().open({ denyRead: ['/workspace/d/secrets'] })
    expect(await textOf(byName, '/workspace/e/secrets/key')).toBe('x')
  })

  it('a file cannot take the place of a protected directory', async () => {
    await refused('PROTECTED', ground().open({ protect }).write(guest('/workspace/.git'), bytes('gitdir: evil')))
    // Control: unprotected, the file is written.
    expect(await ground().open().write(guest('/workspace/.git'), bytes('gitdir: evil'))).toEqual({ created: true })
  })

  it('an ancestor of a protected path cannot be renamed', async () => {
    ground().put('.git/hooks/pre-commit')
    ground().put('evil/hooks/pre-commit')
    const files = ground().open({ protect })
    await refused('PROTECTED', files.rename(guest('/workspace/.git'), guest('/workspace/x')))
    await refused('PROTECTED', files.rename(guest('/workspace/evil'), guest('/workspace/.git')))
    // Control: the system call does it.
    renameSync(ground().host('.git'), ground().host('x'))
    expect(readdirSync(ground().inside)).toEqual(['evil', 'x'])
  })

  it('a second name outside, linked and unlinked all the time, is not read', async () => {
    const [outside, name] = [join(ground().outside, 'secret.txt'), ground().host('hard')]
    const child = spawn(process.execPath, ['-e', linker, outside, name], { stdio: ['ignore', 'pipe', 'inherit'] })
    try {
      await once(child.stdout, 'data')
      const files = ground().open()
      for (let attempt = 0; attempt < 3000; attempt++) {
        const got = await files.read(guest('/workspace/hard'), { maxBytes: 100 }).catch((error: unknown) => {
          if (!isGloveboxError(error) || !['NOT_FOUND', 'LINK_REFUSED', 'BUSY'].includes(error.code)) throw error
          return undefined
        })
        expect(got).toBeUndefined()
      }
      // Control: to count the names of the open file is not enough.
      expect(naiveReads(name, 500_000)).toContain(secret)
      expect(child.exitCode).toBeNull()
    } finally {
      child.kill('SIGKILL')
      await once(child, 'close')
    }
  })

  it('a write does not reach through a hard link', async () => {
    const outside = join(ground().outside, 'secret.txt')
    for (const name of ['a', 'b', 'c']) linkSync(outside, ground().host(name))
    await ground().open().write(guest('/workspace/a'), bytes('mine'))
    await ground().open().append(guest('/workspace/b'), bytes('mine'))
    expect(readFileSync(outside, 'utf8')).toBe(secret)
    // Control: a plain append does.
    appendFileSync(ground().host('c'), 'mine')
    expect(readFileSync(outside, 'utf8')).toBe(`${secret}mine`)
  })

  it('a write drops the setuid bit', async () => {
    ground().put('tool')
    chmodSync(ground().host('tool'), 0o6755)
    // Control: the bits are really there before.
    expect(statSync(ground().host('tool')).mode & 0o7777).toBe(0o6755)
    await ground().open().write(guest('/workspace/tool'), bytes('evil'))
    expect(statSync(ground().host('tool')).mode & 0o7777).toBe(0o755)
  })

  describeAsRoot('of files of others', () => {
    it("started by root, a file action reaches no more than the mount's owner may", async () => {
      ground().put('roots', secret)
      ground().put('closed/inner', secret)
      chmodSync(ground().host('roots'), 0o600)
      chmodSync(ground().host('closed'), 0o700)
      chownSync(ground().inside, 1234, 1234)
      const files = ground().open()
      await refused('NOT_PERMITTED', files.read(guest('/workspace/roots'), { maxBytes: 99 }))
      await refused('NOT_PERMITTED', files.read(guest('/workspace/closed/inner'), { maxBytes: 99 }))
      await refused('NOT_PERMITTED', files.list(guest('/workspace/closed'), { limit: 9 }))
      await refused('NOT_PERMITTED', files.write(guest('/workspace/closed/new'), bytes('x')))
      // Control: root itself reads it, and so does the action once the owner may.
      expect(readFileSync(ground().host('roots'), 'utf8')).toBe(secret)
      chownSync(ground().host('roots'), 1234, 1234)
      expect(await textOf(files, '/workspace/roots')).toBe(secret)
    })

    it('a directory that is swapped in is not given away', () => {
      mkdirSync(ground().host('victim'))
      writeFileSync(ground().host('victim/of-root'), '')
      mkdirSync(ground().host('new'))
      const owner = { uid: 1234, gid: 1234 }
      for (const name of ['victim', 'new']) {
        const opened = openRoot(ground().host(name))
        settle(opened, owner)
        closeSync(opened.fd)
      }
      expect(statSync(ground().host('victim')).uid).toBe(0)
      // Control: one that was really made just now is.
      expect(statSync(ground().host('new')).uid).toBe(1234)
    })
  })
})

/** Everything that an open file with one name by its own count gave, up to the first secret. */
function naiveReads(name: string, tries: number): string[] {
  const got: string[] = []
  for (let attempt = 0; attempt < tries && got.length === 0; attempt++) {
    try {
      const fd = openSync(name, 'r')
      if (fstatSync(fd).nlink === 1) got.push(readFileSync(fd, 'utf8'))
      closeSync(fd)
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    }
  }
  return got
}
