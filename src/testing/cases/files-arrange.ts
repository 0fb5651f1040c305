import assert from 'node:assert/strict'
import { mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConformanceCase, Subject } from '../case.ts'
import { refused } from '../expect.ts'

async function place(subject: Subject) {
  const deleting = await subject.scene('deleting')
  return { ...(await subject.room(deleting)), files: deleting.sandbox.files }
}

export const fileArrangeCases: readonly ConformanceCase[] = [
  {
    title: 'mkdir makes parents, and a directory that is there already is no error',
    async run(subject) {
      const { files, guest, host } = await place(subject)
      await files.mkdir(`${guest}/a/b/c`)
      await files.mkdir(`${guest}/a/b/c`)
      assert.equal((await stat(join(host, 'a/b/c'))).isDirectory(), true)
    },
  },
  {
    title: 'mkdir where a file is, is refused',
    async run(subject) {
      const { files, guest, host } = await place(subject)
      await writeFile(join(host, 'file'), 'kept')
      await refused(['ALREADY_EXISTS', 'NOT_A_DIRECTORY'], files.mkdir(`${guest}/file`))
      assert.equal(await readFile(join(host, 'file'), 'utf8'), 'kept')
    },
  },
  {
    title: 'remove takes away a file and an empty directory',
    async run(subject) {
      const { files, guest, host } = await place(subject)
      await writeFile(join(host, 'file'), '')
      await mkdir(join(host, 'empty'))
      await files.remove(`${guest}/file`)
      await files.remove(`${guest}/empty`)
      assert.deepEqual(await readdir(host), [])
    },
  },
  {
    title: 'remove of a directory that is not empty needs recursive',
    async run(subject) {
      const { files, guest, host } = await place(subject)
      await mkdir(join(host, 'full/deep'), { recursive: true })
      await writeFile(join(host, 'full/deep/file'), '')
      await refused('NOT_EMPTY', files.remove(`${guest}/full`))
      await files.remove(`${guest}/full`, { recursive: true })
      assert.deepEqual(await readdir(host), [])
    },
  },
  {
    title: 'remove of nothing is refused with NOT_FOUND',
    async run(subject) {
      const { files, guest } = await place(subject)
      await refused('NOT_FOUND', files.remove(`${guest}/missing`))
    },
  },
  {
    title: 'a mount itself can be neither removed nor renamed',
    async run(subject) {
      const { sandbox, host } = await subject.scene('deleting')
      const codes = ['NOT_PERMITTED', 'PROTECTED', 'BUSY', 'INVALID_PATH', 'INVALID_INPUT', 'OUTSIDE_MOUNTS'] as const
      await refused(codes, sandbox.files.remove('/workspace', { recursive: true }))
      await refused(codes, sandbox.files.rename('/workspace', '/workspace/moved'))
      assert.equal((await stat(host('/workspace'))).isDirectory(), true)
    },
  },
  {
    title: 'remove is refused with POLICY_DENIED while delete is off, and the file stays',
    async run(subject) {
      const plain = await subject.scene('plain')
      const { guest, host } = await subject.room(plain)
      await writeFile(join(host, 'file'), 'kept')
      await refused('POLICY_DENIED', plain.sandbox.files.remove(`${guest}/file`))
      assert.equal(await readFile(join(host, 'file'), 'utf8'), 'kept')
    },
  },
  {
    title: 'rename moves a file and a directory within a mount',
    async run(subject) {
      const { files, guest, host } = await place(subject)
      await files.write(`${guest}/old.txt`, 'moved')
      await files.mkdir(`${guest}/old-dir`)
      await files.rename(`${guest}/old.txt`, `${guest}/new.txt`)
      await files.rename(`${guest}/old-dir`, `${guest}/new-dir`)
      assert.deepEqual((await readdir(host)).toSorted(), ['new-dir', 'new.txt'])
      assert.equal(await files.read(`${guest}/new.txt`), 'moved')
    },
  },
  {
    title: 'rename of nothing is refused with NOT_FOUND',
    async run(subject) {
      const { files, guest } = await place(subject)
      await refused('NOT_FOUND', files.rename(`${guest}/missing`, `${guest}/new`))
    },
  },
  {
    title: 'rename out of the mounts is refused, and the file stays',
    async run(subject) {
      const { files, guest } = await place(subject)
      await files.write(`${guest}/file`, 'kept')
      await refused('OUTSIDE_MOUNTS', files.rename(`${guest}/file`, '/elsewhere/file'))
      assert.equal(await files.read(`${guest}/file`), 'kept')
    },
  },
]
