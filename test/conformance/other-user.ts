// A copy of the built package, with a place of an ordinary user's own to run it from.
import { spawn } from 'node:child_process'
import { chmodSync, chownSync, copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { copyPackage, otherUser } from '../fixtures/package-copy.ts'

export interface OtherUsersCopy {
  /** Runs the driver with node:test, as that user. One that has not ended in time is killed: its output says so. */
  run(
    env: Readonly<Record<string, string>>,
    limits: { readonly limitMs: number },
  ): Promise<{ readonly code: number | null; readonly output: string }>
  remove(): void
}

export function copyForOtherUser(driver: string, { gid = otherUser }: { readonly gid?: number } = {}): OtherUsersCopy {
  const directory = mkdtempSync(join(tmpdir(), 'glovebox-other-user-'))
  copyPackage(directory)
  copyFileSync(join(import.meta.dirname, driver), join(directory, driver))
  chmodSync(directory, 0o755)
  const own = ['home', 'state', 'tmp'].map((name) => join(directory, name))
  for (const place of own) {
    mkdirSync(place, { mode: 0o700 })
    chownSync(place, otherUser, gid)
  }
  const [HOME = '', GLOVEBOX_STATE_DIR = '', TMPDIR = ''] = own
  return {
    run: (env, { limitMs }) =>
      new Promise((resolve, reject) => {
        const child = spawn(process.execPath, ['--test-reporter=tap', driver], {
          cwd: directory,
          uid: otherUser,
          gid,
          env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME, GLOVEBOX_STATE_DIR, TMPDIR, ...env },
          stdio: ['ignore', 'pipe', 'pipe'],
        })
        let output = ''
        const take = (text: string): void => void (output += text)
        for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', take)
        const timer = setTimeout(() => {
          const last = output.match(/(?<=# Subtest: ).*/g)?.at(-1) ?? 'none'
          take(`\nnot ok 0 - the suite was still running after ${limitMs / 60_000} minutes; its last case: ${last}\n`)
          child.kill('SIGKILL')
        }, limitMs)
        child.on('error', reject)
        child.on('close', (code) => {
          clearTimeout(timer)
          resolve({ code, output })
        })
      }),
    remove: () => rmSync(directory, { recursive: true, force: true }),
  }
}
