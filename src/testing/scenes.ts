// Sandboxes that cases share. Starting one costs more than most cases do, and a case that has a directory
// of its own needs no sandbox of its own.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { CaseMount, CaseSandboxOptions, SceneName } from './case.ts'

interface ScenePlan extends CaseSandboxOptions {
  readonly mounts: readonly CaseMount[]
}

type Furnish = (root: string) => Promise<ScenePlan>

async function directories(root: string, ...names: string[]): Promise<void> {
  for (const name of names) await mkdir(join(root, name), { recursive: true })
}

const workspaceOf = (root: string): CaseMount => ({ guestPath: '/workspace', hostPath: join(root, 'workspace') })

export const scenes: Readonly<Record<SceneName, Furnish>> = {
  async plain(root) {
    await directories(root, 'workspace')
    return { mounts: [workspaceOf(root)] }
  },

  async nested(root) {
    await directories(root, 'workspace', 'inner', 'skills', 'skills-extra')
    await writeFile(join(root, 'skills', 'name.txt'), 'skills\n')
    await writeFile(join(root, 'skills-extra', 'name.txt'), 'extra\n')
    return {
      mounts: [
        workspaceOf(root),
        { guestPath: '/workspace/inner', hostPath: join(root, 'inner'), mode: 'rw' },
        { guestPath: '/mnt/skills', hostPath: join(root, 'skills'), mode: 'rw' },
        { guestPath: '/mnt/skills-extra', hostPath: join(root, 'skills-extra'), mode: 'rw' },
      ],
    }
  },

  async readonly(root) {
    await directories(root, 'workspace', 'reference/drop', 'frozen', 'drop')
    await writeFile(join(root, 'reference', 'book.txt'), 'a book\n')
    await writeFile(join(root, 'frozen', 'ice.txt'), 'ice\n')
    return {
      mounts: [
        workspaceOf(root),
        { guestPath: '/workspace/frozen', hostPath: join(root, 'frozen'), mode: 'ro' },
        { guestPath: '/reference', hostPath: join(root, 'reference'), mode: 'ro' },
        { guestPath: '/reference/drop', hostPath: join(root, 'drop'), mode: 'rw' },
      ],
      settings: { delete: true, ceilings: { delete: true } },
    }
  },

  async vault(root) {
    await directories(root, 'workspace', 'keys')
    await writeFile(join(root, 'keys', 'token'), 'vault-content-7f3a\n')
    return {
      mounts: [workspaceOf(root), { guestPath: '/vaults/keys', hostPath: join(root, 'keys'), mode: 'vault' }],
    }
  },

  async guarded(root) {
    await directories(root, 'workspace/.git/hooks', 'workspace/src')
    await writeFile(join(root, 'workspace', '.git', 'config'), '[core]\n')
    return {
      mounts: [workspaceOf(root)],
      settings: { delete: true, ceilings: { delete: true } },
    }
  },

  async hidden(root) {
    await directories(root, 'workspace/private', 'workspace/public')
    await writeFile(join(root, 'workspace', 'private', 'diary.txt'), 'hidden-content-91bc\n')
    await writeFile(join(root, 'workspace', 'secret.txt'), 'hidden-content-91bc\n')
    await writeFile(join(root, 'workspace', 'public', 'notice.txt'), 'read me\n')
    await writeFile(join(root, 'workspace', 'deploy.key'), 'kept\n')
    return {
      mounts: [workspaceOf(root)],
      settings: { denyRead: ['/workspace/private', '/workspace/secret.txt'], protect: ['deploy.key', 'not-there-yet'] },
    }
  },

  async deleting(root) {
    await directories(root, 'workspace')
    return { mounts: [workspaceOf(root)], settings: { delete: true, ceilings: { delete: true } } }
  },
}
