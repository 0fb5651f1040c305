import assert from 'node:assert/strict'
import { once } from 'node:events'
import { link, lstat, mkdir, readFile, readdir, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { ConformanceCase, Subject } from '../case.ts'
import { refused, succeeded } from '../expect.ts'

async function place(subject: Subject) {
  const deleting = await subject.scene('deleting')
  const outside = await subject.directory()
  await writeFile(join(outside, 'secret'), 'outside-content-c0de')
  return { ...(await subject.room(deleting)), sandbox: deleting.sandbox, files: deleting.sandbox.files, outside }
}

/** A mechanism with a kernel of its own keeps the guest's FIFOs to itself; a socket of the host's then takes its place. */
async function whileSpecial(subject: Subject, check: (at: Awaited<ReturnType<typeof place>>) => Promise<unknown>) {
  const at = await place(subject)
  succeeded(await at.sandbox.commands.run(['mkfifo', 'pipe'], { cwd: at.guest }))
  const path = join(at.host, 'pipe')
  if (await lstat(path).catch(() => undefined)) return void (await check(at))
  const server = createServer().listen(path)
  await once(server, 'listening')
  await check(at).finally(() => server.close())
}

export const linkCases: readonly ConformanceCase[] = [
  {
    title: 'stat does not follow a symlink; it shows it',
    async run(subject) {
      const { files, guest, host } = await place(subject)
      await writeFile(join(host, 'file'), 'content')
      await symlink('file', join(host, 'link'))
      const stat = await files.stat(`${guest}/link`)
      assert.deepEqual([stat.kind, stat.target], ['symlink', 'file'])
    },
  },
  {
    title: 'list shows a symlink as a symlink, with its target',
    async run(subject) {
      const { files, guest, host } = await place(subject)
      await symlink('nowhere', join(host, 'link'))
      const { entries } = await files.list(guest)
      assert.deepEqual(
        entries.map(({ name, kind, target }) => [name, kind, target]),
        [['link', 'symlink', 'nowhere']],
      )
    },
  },
  {
    title: 'a symlink whose target stays inside a mount is followed',
    async run(subject) {
      const { files, guest, host } = await place(subject)
      await mkdir(join(host, 'dir'))
      await writeFile(join(host, 'dir/file'), 'inside')
      await symlink('dir/file', join(host, 'to-file'))
      await symlink('dir', join(host, 'to-dir'))
      assert.equal(await files.read(`${guest}/to-file`), 'inside')
      assert.equal(await files.read(`${guest}/to-dir/file`), 'inside')
    },
  },
  {
    title: "an absolute symlink is resolved in the guest's own view",
    async run(subject) {
      const { files, guest, host, sandbox } = await place(subject)
      await writeFile(join(host, 'file'), 'guest view')
      await symlink(`${guest}/file`, join(host, 'absolute'))
      assert.equal(await files.read(`${guest}/absolute`), 'guest view')
      assert.equal(sandbox.describe().mounts[0]?.guestPath, '/workspace')
    },
  },
  {
    title: 'a symlink that leaves the mounts is refused for reading',
    async run(subject) {
      const { files, guest, host, outside } = await place(subject)
      await symlink(join(outside, 'secret'), join(host, 'direct'))
      await symlink('/etc/passwd', join(host, 'passwd'))
      await symlink('../'.repeat(12) + 'etc/passwd', join(host, 'climbing'))
      for (const name of ['direct', 'passwd', 'climbing']) {
        await refused(['LINK_REFUSED', 'OUTSIDE_MOUNTS'], files.readBytes(`${guest}/${name}`))
      }
    },
  },
  {
    title: 'a symlinked directory that leaves the mounts can be neither listed nor passed through',
    async run(subject) {
      const { files, guest, host, outside } = await place(subject)
      await symlink(outside, join(host, 'door'))
      await refused(['LINK_REFUSED', 'OUTSIDE_MOUNTS'], files.list(`${guest}/door`))
      await refused(['LINK_REFUSED', 'OUTSIDE_MOUNTS'], files.readBytes(`${guest}/door/secret`))
      await refused(['LINK_REFUSED', 'OUTSIDE_MOUNTS'], files.write(`${guest}/door/new`, 'x'))
      await refused(['LINK_REFUSED', 'OUTSIDE_MOUNTS'], files.mkdir(`${guest}/door/deep/er`))
      assert.deepEqual(await readdir(outside), ['secret'])
    },
  },
  {
    title: 'a chain of symlinks is judged by where it ends',
    async run(subject) {
      const { files, guest, host, outside } = await place(subject)
      await symlink(join(outside, 'secret'), join(host, 'third'))
      await symlink('third', join(host, 'second'))
      await symlink('second', join(host, 'first'))
      await refused(['LINK_REFUSED', 'OUTSIDE_MOUNTS'], files.readBytes(`${guest}/first`))
    },
  },
  {
    title: 'a loop of symlinks is refused and does not hang',
    async run(subject) {
      const { files, guest, host } = await place(subject)
      await symlink('b', join(host, 'a'))
      await symlink('a', join(host, 'b'))
      await refused('LINK_REFUSED', files.readBytes(`${guest}/a`))
    },
  },
  {
    title: 'a write through a dangling symlink makes nothing outside',
    async run(subject) {
      const { files, guest, host, outside } = await place(subject)
      await symlink(join(outside, 'planted'), join(host, 'dangling'))
      await refused(['LINK_REFUSED', 'OUTSIDE_MOUNTS'], files.write(`${guest}/dangling`, 'x'))
      assert.deepEqual(await readdir(outside), ['secret'])
    },
  },
  {
    title: 'a write through a symlink to a file outside leaves that file alone',
    async run(subject) {
      const { files, guest, host, outside } = await place(subject)
      await symlink(join(outside, 'secret'), join(host, 'link'))
      await refused(['LINK_REFUSED', 'OUTSIDE_MOUNTS'], files.write(`${guest}/link`, 'overwritten'))
      await refused(['LINK_REFUSED', 'OUTSIDE_MOUNTS'], files.write(`${guest}/link`, 'x', { append: true }))
      assert.equal(await readFile(join(outside, 'secret'), 'utf8'), 'outside-content-c0de')
    },
  },
  {
    title: 'remove takes away a symlink and never what it points to',
    async run(subject) {
      const { files, guest, host, outside } = await place(subject)
      await symlink(outside, join(host, 'link'))
      await mkdir(join(host, 'dir'))
      await symlink(outside, join(host, 'dir/link'))
      await files.remove(`${guest}/link`)
      await files.remove(`${guest}/dir`, { recursive: true })
      assert.deepEqual([await readdir(host), await readdir(outside)], [[], ['secret']])
    },
  },
  {
    title: 'a file with several names is refused: one of them may lie outside',
    async run(subject) {
      const { files, guest, host, outside } = await place(subject)
      await link(join(outside, 'secret'), join(host, 'hard'))
      await refused('LINK_REFUSED', files.readBytes(`${guest}/hard`))
      // A writer may work on a copy or refuse; what it must not do is reach through.
      await files.write(`${guest}/hard`, 'x', { append: true }).catch(() => undefined)
      assert.equal(await readFile(join(outside, 'secret'), 'utf8'), 'outside-content-c0de')
    },
  },
  {
    title: 'a FIFO is refused with NOT_A_FILE and does not hang the reader',
    async run(subject) {
      await whileSpecial(subject, async ({ files, guest }) => {
        await refused('NOT_A_FILE', files.readBytes(`${guest}/pipe`))
        assert.equal((await files.stat(`${guest}/pipe`)).kind, 'other')
      })
    },
  },
  {
    title: 'writing to a FIFO is refused with NOT_A_FILE and does not hang',
    async run(subject) {
      await whileSpecial(subject, ({ files, guest }) =>
        refused('NOT_A_FILE', files.write(`${guest}/pipe`, 'x', { append: true })),
      )
    },
  },
  {
    title: 'a symlink made by a command to the files of the host is refused by file actions',
    async run(subject) {
      const { files, guest, sandbox } = await place(subject)
      succeeded(await sandbox.commands.run('ln -s /etc/hostname link && ln -s /proc/self/root root', { cwd: guest }))
      await refused(['LINK_REFUSED', 'OUTSIDE_MOUNTS'], files.readBytes(`${guest}/link`))
      await refused(['LINK_REFUSED', 'OUTSIDE_MOUNTS'], files.readBytes(`${guest}/root/etc/hostname`))
    },
  },
]
