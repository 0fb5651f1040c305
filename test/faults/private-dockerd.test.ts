// What a daemon of a test that was killed leaves is cleared away by the next, and nothing of one whose test lives.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ownIdentity, type ProcessIdentity } from '../../src/process/identity.ts'
import { clearAwayAbandoned, ownerOf, prefix } from './private-dockerd.ts'

function homeOf(owner: ProcessIdentity) {
  const home = mkdtempSync(join(tmpdir(), prefix))
  writeFileSync(ownerOf(home), JSON.stringify(owner))
  // As the keeper of a container does, it names the directory and nothing else ties it to the daemon.
  const keeper = spawn('sh', ['-c', 'read -r never', `${home}/exec/containerd.sock`], { detached: true })
  return { home, keeper, ended: once(keeper, 'exit') }
}

describe.skipIf(process.platform !== 'linux')('a daemon whose test was killed', () => {
  it('is cleared away with what it left, and one whose test lives is not', async () => {
    const abandoned = homeOf({ ...ownIdentity(), startTime: '1' })
    const used = homeOf(ownIdentity())
    try {
      expect(await clearAwayAbandoned()).toContain(basename(abandoned.home))
      expect(await abandoned.ended).toEqual([null, 'SIGKILL'])
      expect([abandoned, used].map(({ home }) => existsSync(home))).toEqual([false, true])
      expect(used.keeper.exitCode).toBe(null)
    } finally {
      for (const { home, keeper } of [abandoned, used]) {
        keeper.kill('SIGKILL')
        rmSync(home, { recursive: true, force: true })
      }
    }
  })
})
