import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConformanceCase, Subject } from '../case.ts'
import { bytesOf, refused } from '../expect.ts'
import { guest as guestPath } from '../spec.ts'

async function place(subject: Subject) {
  const deleting = await subject.scene('deleting')
  return { ...(await subject.room(deleting)), files: deleting.sandbox.files }
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

export const fileWriteCases: readonly ConformanceCase[] = [
  {
    title: 'write makes a file and its missing parents',
    async run(subject) {
      const { files, guest, host } = await place(subject)
      await files.write(`${guest}/a/b/c.txt`, 'deep')
      assert.equal(await readFile(join(host, 'a/b/c.txt'), 'utf8'), 'deep')
    },
  },
  {
    title: 'write replaces what was there, be the new content longer, shorter or empty',
    async run(subject) {
      const { files, guest, host } = await place(subject)
      for (const text of ['first', 'a much longer second version', 'x', '']) {
        await files.write(`${guest}/file`, text)
        assert.equal(await readFile(join(host, 'file'), 'utf8'), text)
      }
      assert.deepEqual(await readdir(host), ['file'])
    },
  },
  {
    title: 'write replaces atomically; a reader sees the old bytes or the new, never a mixture',
    async run(subject) {
      const { files, guest } = await place(subject)
      const versions = ['a', 'b'].map((letter) => letter.repeat(300_000))
      await files.write(`${guest}/file`, versions[0]!)
      let writing = true
      const writer = (async () => {
        for (let round = 0; round < 20; round += 1) await files.write(`${guest}/file`, versions[round % 2]!)
        writing = false
      })()
      let reads = 0
      while (writing) {
        const text = await files.read(`${guest}/file`)
        assert.ok(versions.includes(text), `a mixture of ${text.length} characters was read`)
        reads += 1
      }
      await writer
      assert.ok(reads > 0)
    },
  },
  {
    title: 'a replaced file keeps its permission bits',
    async run(subject) {
      const { files, guest, host } = await place(subject)
      await writeFile(join(host, 'tool.sh'), 'old', { mode: 0o755 })
      await files.write(`${guest}/tool.sh`, 'new')
      assert.equal((await stat(join(host, 'tool.sh'))).mode & 0o777, 0o755)
    },
  },
  {
    title: 'write with the expected hash replaces; with another it is refused with CONFLICT and changes nothing',
    async run(subject) {
      const { files, guest, host } = await place(subject)
      await writeFile(join(host, 'file'), 'known')
      await refused('CONFLICT', files.write(`${guest}/file`, 'lost update', { expectedSha256: sha256('other') }))
      assert.equal(await readFile(join(host, 'file'), 'utf8'), 'known')
      await files.write(`${guest}/file`, 'next', { expectedSha256: sha256('known') })
      assert.equal(await readFile(join(host, 'file'), 'utf8'), 'next')
    },
  },
  {
    title: 'write with an expected hash of null demands that no file is there',
    async run(subject) {
      const { files, guest, host } = await place(subject)
      await files.write(`${guest}/new`, 'first', { expectedSha256: null })
      await refused('CONFLICT', files.write(`${guest}/new`, 'second', { expectedSha256: null }))
      assert.equal(await readFile(join(host, 'new'), 'utf8'), 'first')
    },
  },
  {
    title: 'a write that expects a file where there is none is refused',
    async run(subject) {
      const { files, guest, host } = await place(subject)
      await refused(['CONFLICT', 'NOT_FOUND'], files.write(`${guest}/none`, 'x', { expectedSha256: sha256('x') }))
      assert.deepEqual(await readdir(host), [])
    },
  },
  {
    title: 'write onto a directory is refused with IS_A_DIRECTORY',
    async run(subject) {
      const { files, guest, host } = await place(subject)
      await mkdir(join(host, 'directory'))
      await refused('IS_A_DIRECTORY', files.write(`${guest}/directory`, 'x'))
      assert.equal((await stat(join(host, 'directory'))).isDirectory(), true)
    },
  },
  {
    title: 'write says whether the file was made or replaced',
    async run(subject) {
      const { boundary } = await subject.boundary()
      const path = guestPath('/workspace/file')
      assert.deepEqual(await boundary.files.write(path, bytesOf('one')), { created: true })
      assert.deepEqual(await boundary.files.write(path, bytesOf('two')), { created: false })
    },
  },
  {
    title: 'write without parents refuses where the directory is missing',
    async run(subject) {
      const { boundary } = await subject.boundary()
      const work = boundary.files.write(guestPath('/workspace/no/file'), bytesOf('x'), { parents: false })
      await refused('NOT_FOUND', work)
    },
  },
  {
    title: 'append adds to the end, and makes the file where there is none',
    async run(subject) {
      const { files, guest, host } = await place(subject)
      await files.write(`${guest}/log`, 'one\n', { append: true })
      await files.write(`${guest}/log`, 'two\n', { append: true })
      assert.equal(await readFile(join(host, 'log'), 'utf8'), 'one\ntwo\n')
    },
  },
  {
    title: 'twenty appends at once are all kept whole',
    async run(subject) {
      const { files, guest, host } = await place(subject)
      const lines = Array.from({ length: 20 }, (_, index) => `${index}`.padStart(2, '0').repeat(500))
      await Promise.all(lines.map((line) => files.write(`${guest}/log`, `${line}\n`, { append: true })))
      const written = (await readFile(join(host, 'log'), 'utf8')).trimEnd().split('\n')
      assert.deepEqual(written.toSorted(), lines)
    },
  },
  {
    title: 'twenty updates at once lose none: read, change and replace happen under one lock',
    async run(subject) {
      const { boundary } = await subject.boundary()
      const path = guestPath('/workspace/counter')
      await boundary.files.write(path, bytesOf('0'))
      const add = (bytes: Uint8Array): Uint8Array => bytesOf(`${Number(Buffer.from(bytes).toString()) + 1}`)
      await Promise.all(Array.from({ length: 20 }, () => boundary.files.update(path, { maxBytes: 100 }, add)))
      assert.equal(Buffer.from((await boundary.files.read(path, { maxBytes: 100 })).bytes).toString(), '20')
    },
  },
  {
    title: 'an update whose change throws leaves the file as it was, and the lock free',
    async run(subject) {
      const { boundary } = await subject.boundary()
      const path = guestPath('/workspace/file')
      await boundary.files.write(path, bytesOf('old'))
      const fault = boundary.files.update(path, { maxBytes: 100 }, () => {
        throw new RangeError('no')
      })
      await assert.rejects(fault, RangeError)
      await boundary.files.update(path, { maxBytes: 100 }, (bytes) => Buffer.concat([bytes, bytesOf('!')]))
      assert.equal(Buffer.from((await boundary.files.read(path, { maxBytes: 100 })).bytes).toString(), 'old!')
    },
  },
  {
    title: 'a refused write leaves no temporary file behind',
    async run(subject) {
      const { files, guest, host } = await place(subject)
      await refused(['CONFLICT', 'NOT_FOUND'], files.write(`${guest}/x`, 'new', { expectedSha256: sha256('absent') }))
      await files.write(`${guest}/y`, 'done')
      assert.deepEqual(await readdir(host), ['y'])
    },
  },
  {
    title: 'what a file action makes, a command may change',
    async run(subject) {
      const plain = await subject.scene('plain')
      const { guest, host } = await subject.room(plain)
      await plain.sandbox.files.write(`${guest}/sub/file`, 'one\n')
      const result = await plain.sandbox.commands.run('echo two >> sub/file && mv sub/file sub/renamed', { cwd: guest })
      assert.equal(result.exitCode, 0, result.stderr)
      assert.equal(await readFile(join(host, 'sub/renamed'), 'utf8'), 'one\ntwo\n')
    },
  },
  {
    title: "what a command makes belongs to the host directory's owner",
    async run(subject) {
      const plain = await subject.scene('plain')
      const { guest, host } = await subject.room(plain)
      const result = await plain.sandbox.commands.run('echo x > made && mkdir made-dir', { cwd: guest })
      assert.equal(result.exitCode, 0, result.stderr)
      const owner = (await stat(host)).uid
      assert.deepEqual([(await stat(join(host, 'made'))).uid, (await stat(join(host, 'made-dir'))).uid], [owner, owner])
    },
  },
]
