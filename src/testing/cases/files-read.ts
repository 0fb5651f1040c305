import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdir, rename, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConformanceCase, Subject } from '../case.ts'
import { refused, succeeded } from '../expect.ts'
import { guest as guestPath } from '../spec.ts'

async function place(subject: Subject) {
  const plain = await subject.scene('plain')
  return { ...(await subject.room(plain)), sandbox: plain.sandbox, files: plain.sandbox.files }
}

const oddNames = ['with space', "it's", 'new\nline', '-rf', 'ünïcödé😀', '*', '$HOME', 'a\\b', '"q"', '%2e%2e']

export const fileReadCases: readonly ConformanceCase[] = [
  {
    title: 'read gives the text of a file, with BOM and line ends as they are',
    async run(subject) {
      const { files, guest, host } = await place(subject)
      await writeFile(join(host, 'crlf.txt'), '\ufeffone\r\ntwo\r\n')
      assert.equal(await files.read(`${guest}/crlf.txt`), '\ufeffone\r\ntwo\r\n')
    },
  },
  {
    title: 'read of a range of lines is 1-based and includes both ends',
    async run(subject) {
      const { files, guest, host } = await place(subject)
      await writeFile(join(host, 'lines'), 'one\ntwo\nthree\nfour\n')
      const text = await files.read(`${guest}/lines`, { startLine: 2, endLine: 3 })
      assert.deepEqual(text.trimEnd().split('\n'), ['two', 'three'])
    },
  },
  {
    title: 'read of an empty file is an empty string',
    async run(subject) {
      const { files, guest, host } = await place(subject)
      await writeFile(join(host, 'empty'), '')
      assert.equal(await files.read(`${guest}/empty`), '')
    },
  },
  {
    title: 'readBytes gives every value of a byte unchanged',
    async run(subject) {
      const { files, guest, host } = await place(subject)
      const bytes = Buffer.from(Array.from({ length: 1024 }, (_, index) => index % 256))
      await writeFile(join(host, 'all'), bytes)
      assert.deepEqual(Buffer.from(await files.readBytes(`${guest}/all`)), bytes)
    },
  },
  {
    title: 'read of a file that is not text is refused with NOT_TEXT, not mangled',
    async run(subject) {
      const { files, guest, host } = await place(subject)
      await writeFile(join(host, 'binary'), Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 0xff, 0xfe]))
      await refused('NOT_TEXT', files.read(`${guest}/binary`))
    },
  },
  {
    title: 'read of a missing file is refused with NOT_FOUND',
    async run(subject) {
      const { files, guest } = await place(subject)
      await refused('NOT_FOUND', files.read(`${guest}/missing`))
      await refused('NOT_FOUND', files.read(`${guest}/missing/below`))
    },
  },
  {
    title: 'read of a directory is refused with IS_A_DIRECTORY',
    async run(subject) {
      const { files, guest } = await place(subject)
      await refused('IS_A_DIRECTORY', files.read(guest))
    },
  },
  {
    title: 'a path that goes through a file is refused with NOT_A_DIRECTORY',
    async run(subject) {
      const { files, guest, host } = await place(subject)
      await writeFile(join(host, 'file'), 'x')
      await refused('NOT_A_DIRECTORY', files.read(`${guest}/file/below`))
    },
  },
  {
    title: 'a relative path joins the starting directory, and dots are resolved before anything is opened',
    async run(subject) {
      const { files, guest, host } = await place(subject)
      await writeFile(join(host, 'near.txt'), 'near')
      const relative = guest.replace('/workspace/', '')
      assert.equal(await files.read(`${relative}/near.txt`), 'near')
      assert.equal(await files.read(`${guest}//./nowhere/../near.txt`), 'near')
    },
  },
  {
    title: 'an empty path, a path with a NUL byte and a path of 5,000 characters are refused as malformed',
    async run(subject) {
      const { files, guest } = await place(subject)
      for (const path of ['', `${guest}/a\0b`, `${guest}/${'x/'.repeat(2500)}`]) {
        await refused(['INVALID_PATH', 'INVALID_INPUT'], files.readBytes(path))
      }
    },
  },
  {
    title: 'file names may hold spaces, quotes, newlines, globs, dashes and characters beyond ASCII',
    async run(subject) {
      const { files, guest, sandbox } = await place(subject)
      for (const name of oddNames) await files.write(`${guest}/${name}`, name)
      for (const name of oddNames) assert.equal(await files.read(`${guest}/${name}`), name)
      const counted = await sandbox.commands.run('n=0; for f in *; do n=$((n+1)); done; echo $n', { cwd: guest })
      assert.equal(succeeded(counted).trim(), `${oddNames.length}`)
    },
  },
  {
    title: 'list is sorted by name, shows nested mounts as entries, and says when it is truncated',
    async run(subject) {
      const { sandbox } = await subject.scene('nested')
      const names = (await sandbox.files.list('/workspace')).entries.map((entry) => entry.name)
      assert.deepEqual(
        names,
        names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
      )
      assert.ok(names.includes('inner'), names.join(' '))
      const { boundary } = await subject.boundary()
      for (const name of ['c', 'a', 'b']) await boundary.files.write(guestPath(`/workspace/${name}`), Buffer.from(name))
      const cut = await boundary.files.list(guestPath('/workspace'), { limit: 2 })
      assert.deepEqual([cut.entries.map((entry) => entry.name), cut.truncated], [['a', 'b'], true])
      assert.equal((await boundary.files.list(guestPath('/workspace'), { limit: 3 })).truncated, false)
    },
  },
  {
    title: 'list tells kind and size of each entry',
    async run(subject) {
      const { files, guest, host } = await place(subject)
      await writeFile(join(host, 'file'), 'twelve bytes')
      await mkdir(join(host, 'directory'))
      const { entries } = await files.list(guest)
      assert.deepEqual(
        entries.map(({ name, kind }) => [name, kind]),
        [
          ['directory', 'directory'],
          ['file', 'file'],
        ],
      )
      assert.equal(entries[1]?.sizeBytes, 12)
    },
  },
  {
    title: 'list of an empty directory is empty, of a file is NOT_A_DIRECTORY, of nothing is NOT_FOUND',
    async run(subject) {
      const { files, guest, host } = await place(subject)
      const { entries, truncated } = await files.list(guest)
      assert.deepEqual([entries, truncated], [[], false])
      await writeFile(join(host, 'file'), '')
      await refused('NOT_A_DIRECTORY', files.list(`${guest}/file`))
      await refused('NOT_FOUND', files.list(`${guest}/missing`))
    },
  },
  {
    title: 'stat tells path, kind, size, time and permission bits',
    async run(subject) {
      const { files, guest, host } = await place(subject)
      await writeFile(join(host, 'tool'), '12345', { mode: 0o755 })
      const stat = await files.stat(`${guest}/tool`)
      assert.deepEqual([stat.path, stat.kind, stat.sizeBytes, stat.mode & 0o100], [`${guest}/tool`, 'file', 5, 0o100])
      assert.ok(Math.abs(Date.now() - stat.modifiedMs) < 60_000, `${stat.modifiedMs}`)
      assert.equal((await files.stat(guest)).kind, 'directory')
      await refused('NOT_FOUND', files.stat(`${guest}/missing`))
    },
  },
  {
    title: 'exists tells a file and a directory from nothing',
    async run(subject) {
      const { files, guest, host } = await place(subject)
      await writeFile(join(host, 'file'), '')
      const answers = [
        await files.exists(`${guest}/file`),
        await files.exists(guest),
        await files.exists(`${guest}/no`),
      ]
      assert.deepEqual(answers, [true, true, false])
    },
  },
  {
    title: 'exists does not answer for paths outside the mounts',
    async run(subject) {
      const { files } = await place(subject)
      await refused('OUTSIDE_MOUNTS', files.exists('/etc/passwd'))
    },
  },
  {
    title: 'a file above maxBytes is refused with TOO_LARGE unless a part will do',
    async run(subject) {
      const { boundary } = await subject.boundary()
      const path = guestPath('/workspace/ten')
      await boundary.files.write(path, Buffer.from('0123456789'))
      await refused('TOO_LARGE', boundary.files.read(path, { maxBytes: 9 }))
      assert.equal(Buffer.from((await boundary.files.read(path, { maxBytes: 10 })).bytes).toString(), '0123456789')
      const part = await boundary.files.read(path, { maxBytes: 4, partial: true })
      assert.deepEqual([Buffer.from(part.bytes).toString(), part.sizeBytes], ['0123', 10])
      const later = await boundary.files.read(path, { offset: 6, maxBytes: 4, partial: true })
      assert.equal(Buffer.from(later.bytes).toString(), '6789')
    },
  },
  {
    title: 'parts of a file that have the same version are of one state of one file',
    async run(subject) {
      const { sandbox, guest, host } = await place(subject)
      const [path, other, time] = [join(host, 'state'), join(host, 'other-state'), new Date(1e12)]
      const versionAt = async (offset: number): Promise<string> => {
        const input = { path: `${guest}/state`, offset, maxBytes: 2, partial: true, versioned: true }
        return ((await sandbox.execute('read_bytes', input)) as { readonly version: string }).version
      }
      await writeFile(path, 'first')
      await utimes(path, time, time)
      const first = await versionAt(0)
      assert.equal(await versionAt(2), first)
      // As long, and with the same time of writing.
      await writeFile(other, 'other')
      await utimes(other, time, time)
      await rename(other, path)
      const replaced = await versionAt(2)
      await writeFile(path, 'third')
      assert.equal(new Set([first, replaced, await versionAt(2)]).size, 3)
    },
  },
  {
    title: 'eight mebibytes survive a round trip, and a command sees the same bytes',
    async run(subject) {
      const { files, guest, sandbox } = await place(subject)
      const bytes = Buffer.alloc(8 * 1024 * 1024, 'glovebox ')
      const hash = createHash('sha256').update(bytes).digest('hex')
      await files.write(`${guest}/large`, bytes)
      assert.equal(
        createHash('sha256')
          .update(await files.readBytes(`${guest}/large`))
          .digest('hex'),
        hash,
      )
      assert.ok(succeeded(await sandbox.commands.run(['sha256sum', 'large'], { cwd: guest })).startsWith(hash))
    },
  },
]
