import assert from 'node:assert/strict'
import { access, readFile, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConformanceCase } from '../case.ts'
import { bytesOf, failed, refused, succeeded } from '../expect.ts'
import { guest } from '../spec.ts'

const protectedNames = [
  '.git/config',
  '.git/hooks/pre-commit',
  '.bashrc',
  '.vscode/tasks.json',
  '.glovebox/x',
  'glovebox.yaml',
]

export const protectedCases: readonly ConformanceCase[] = [
  {
    title: 'a protected name can be neither changed nor created by a file action',
    async run({ scene }) {
      const { sandbox, host } = await scene('guarded')
      for (const name of protectedNames) {
        // The catalog lies over `.glovebox`, and is read-only by itself.
        const codes = name.startsWith('.glovebox/') ? (['PROTECTED', 'READ_ONLY'] as const) : 'PROTECTED'
        await refused(codes, sandbox.files.write(`/workspace/${name}`, 'planted'))
        await refused(codes, sandbox.files.write(`/workspace/${name}`, 'planted', { append: true }))
      }
      await refused('PROTECTED', sandbox.files.mkdir('/workspace/.git/hooks/deeper'))
      assert.equal(await readFile(join(host('/workspace'), '.git/config'), 'utf8'), '[core]\n')
    },
  },
  {
    title: 'a protected name can be neither removed nor renamed by a file action, nor can what holds it',
    async run({ scene }) {
      const { sandbox, host } = await scene('guarded')
      await refused('PROTECTED', sandbox.files.remove('/workspace/.git/config'))
      await refused('PROTECTED', sandbox.files.rename('/workspace/.git/config', '/workspace/free'))
      await refused('PROTECTED', sandbox.files.rename('/workspace/.git', '/workspace/moved'))
      await refused('PROTECTED', sandbox.files.remove('/workspace/.git', { recursive: true }))
      assert.equal(await readFile(join(host('/workspace'), '.git/config'), 'utf8'), '[core]\n')
    },
  },
  {
    title: 'nothing can be renamed onto a protected name',
    async run({ scene }) {
      const { sandbox } = await scene('guarded')
      await sandbox.files.write('/workspace/src/planted', 'x')
      await refused('PROTECTED', sandbox.files.rename('/workspace/src/planted', '/workspace/.git/hooks/post-merge'))
    },
  },
  {
    title: 'a protected name is not reached by another spelling or through a link',
    async run({ scene }) {
      const { sandbox, host } = await scene('guarded')
      await symlink('../.git', join(host('/workspace'), 'src', 'git-link'))
      await refused('PROTECTED', sandbox.files.write('/workspace/src/../.git/./config', 'x'))
      await refused(['PROTECTED', 'LINK_REFUSED'], sandbox.files.write('/workspace/src/git-link/config', 'x'))
      assert.equal(await readFile(join(host('/workspace'), '.git/config'), 'utf8'), '[core]\n')
    },
  },
  {
    title: 'a protected file can be read',
    async run({ scene }) {
      const { sandbox } = await scene('guarded')
      assert.equal(await sandbox.files.read('/workspace/.git/config'), '[core]\n')
      assert.equal(succeeded(await sandbox.commands.run('cat .git/config')), '[core]\n')
    },
  },
  {
    title: 'names that only look like protected ones are free',
    async run({ scene }) {
      const { sandbox } = await scene('guarded')
      await sandbox.files.write('/workspace/.github/workflow.yml', 'x')
      await sandbox.files.write('/workspace/.git/index2', 'x')
      assert.equal(await sandbox.files.exists('/workspace/.github/workflow.yml'), true)
    },
  },
  {
    title: 'a protected name can be neither changed nor created by a command',
    requires: ['files.protected'],
    async run({ scene }) {
      const { sandbox, host } = await scene('guarded')
      const attempts = [
        'echo x >> .git/config',
        'echo x > .git/hooks/pre-commit',
        'echo x > .bashrc',
        'mkdir -p .vscode && echo x > .vscode/tasks.json',
        'echo x > glovebox.yaml',
        'rm -f .git/config',
      ]
      for (const attempt of attempts) failed(await sandbox.commands.run(attempt))
      assert.equal(await readFile(join(host('/workspace'), '.git/config'), 'utf8'), '[core]\n')
      assert.deepEqual(await readdir(join(host('/workspace'), '.git/hooks')), [])
    },
  },
  {
    title: 'a protected directory cannot be moved aside by a command and made anew',
    requires: ['files.protected'],
    async run({ scene }) {
      const { sandbox, host } = await scene('guarded')
      failed(await sandbox.commands.run('mv .git aside && mkdir -p .git/hooks && echo x > .git/hooks/pre-commit'))
      assert.equal(await readFile(join(host('/workspace'), '.git/config'), 'utf8'), '[core]\n')
    },
  },
  {
    title: 'names that the operator protects hold for commands too, there or not',
    requires: ['files.protected', 'files.denyRead'],
    async run({ scene }) {
      const { sandbox, host } = await scene('hidden')
      failed(await sandbox.commands.run('echo x > deploy.key'))
      failed(await sandbox.commands.run('echo x > not-there-yet'))
      await refused('PROTECTED', sandbox.files.write('/workspace/not-there-yet', 'x'))
      assert.equal(await readFile(join(host('/workspace'), 'deploy.key'), 'utf8'), 'kept\n')
    },
  },
  {
    title: 'what holds protected names in place is gone when the sandbox is',
    async run({ create, directory }) {
      const hostPath = await directory()
      await writeFile(join(hostPath, 'mine.txt'), 'mine')
      const sandbox = await create({ mounts: [{ guestPath: '/workspace', hostPath }] })
      succeeded(await sandbox.commands.run('echo made > made.txt'))
      await sandbox.kill()
      const left = (await readdir(hostPath)).filter((name) => name !== '.glovebox').toSorted()
      assert.deepEqual(left, ['made.txt', 'mine.txt'])
    },
  },
  {
    title: 'a built-in protection that the operator gives up no longer holds',
    async run({ create, directory }) {
      const hostPath = await directory()
      const mounts = [{ guestPath: '/workspace', hostPath }]
      const sandbox = await create({ mounts, settings: { unprotect: ['.vscode'] } })
      await sandbox.files.write('/workspace/.vscode/settings.json', '{}')
      assert.equal(succeeded(await sandbox.commands.run('cat .vscode/settings.json')), '{}')
      await refused('PROTECTED', sandbox.files.write('/workspace/.idea/x', 'x'))
    },
  },
]

export const hiddenCases: readonly ConformanceCase[] = [
  {
    title: 'a hidden path can be neither read, written nor listed by a file action',
    async run(subject) {
      const { boundary, workspace } = await subject.boundary({ policy: { denyRead: ['/workspace/private'] } })
      await boundary.files.write(guest('/workspace/open.txt'), bytesOf('open'))
      await refused('NOT_PERMITTED', boundary.files.read(guest('/workspace/private/diary'), { maxBytes: 100 }))
      await refused('NOT_PERMITTED', boundary.files.list(guest('/workspace/private'), { limit: 10 }))
      await refused('NOT_PERMITTED', boundary.files.write(guest('/workspace/private/new'), bytesOf('x')))
      await assert.rejects(access(join(workspace, 'private/new')))
    },
  },
  {
    title: 'a hidden path is not reached through a link by a file action',
    async run(subject) {
      const place = await subject.directory()
      await writeFile(join(place, 'secret'), 'hidden-content-91bc')
      await symlink('secret', join(place, 'link'))
      const mounts = [{ guestPath: '/workspace', hostPath: place }]
      const { boundary } = await subject.boundary({ mounts, policy: { denyRead: ['/workspace/secret'] } })
      await refused(['NOT_PERMITTED', 'LINK_REFUSED'], boundary.files.read(guest('/workspace/link'), { maxBytes: 100 }))
    },
  },
  {
    title: 'a hidden directory can be neither read, listed nor written by a command',
    requires: ['files.denyRead', 'files.protected'],
    async run({ scene }) {
      const { sandbox } = await scene('hidden')
      for (const script of [
        'cat private/diary.txt',
        'ls private',
        'echo x > private/new',
        'mv private p2 && cat p2/diary.txt',
      ]) {
        const result = await sandbox.commands.run(script)
        failed(result)
        assert.ok(!result.stdout.includes('hidden-content'), result.stdout)
      }
    },
  },
  {
    title: 'a hidden file cannot be read by a command, and its neighbours can',
    requires: ['files.denyRead', 'files.protected'],
    async run({ scene }) {
      const { sandbox } = await scene('hidden')
      const result = await sandbox.commands.run('cat secret.txt; cp secret.txt copy && cat copy; cat public/notice.txt')
      assert.equal(result.stdout, 'read me\n')
    },
  },
  {
    title: 'a search does not look into hidden paths',
    requires: ['files.denyRead', 'files.protected'],
    async run({ scene }) {
      const { sandbox } = await scene('hidden')
      const { matches } = await sandbox.files.grep('hidden-content')
      assert.deepEqual(matches, [])
      const { paths } = await sandbox.files.glob('**/*.txt')
      assert.deepEqual(
        paths.filter((path) => path.includes('diary')),
        [],
      )
    },
  },
]
