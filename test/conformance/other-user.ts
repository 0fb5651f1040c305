// A copy of the built package that an ordinary user can read, and a place of that user's own to run it from.
// A checkout may lie in a directory that only root can enter, so nothing is run from the checkout itself.
import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Any number but 0 and 65534, which the kernel also shows for ids that have no mapping. */
export const otherUser = 20_000

const root = fileURLToPath(new URL('../..', import.meta.url))

interface Manifest {
  readonly dependencies?: Record<string, string>
  readonly optionalDependencies?: Record<string, string>
}

/** What the package needs at run time, with what that needs in turn. */
function runtimePackages(): ReadonlySet<string> {
  const found = new Set<string>()
  const visit = (directory: string): void => {
    const manifest = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as Manifest
    for (const name of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })) {
      const place = join(root, 'node_modules', name)
      if (found.has(name) || !existsSync(place)) continue
      found.add(name)
      visit(place)
    }
  }
  visit(root)
  return found
}

export interface OtherUsersCopy {
  readonly directory: string
  run(
    script: string,
    env: Readonly<Record<string, string>>,
  ): Promise<{ readonly code: number | null; readonly output: string }>
  remove(): void
}

export function copyForOtherUser(driver: string): OtherUsersCopy {
  const directory = mkdtempSync(join(tmpdir(), 'glovebox-other-user-'))
  for (const name of ['dist', 'package.json', ...[...runtimePackages()].map((each) => `node_modules/${each}`)]) {
    cpSync(join(root, name), join(directory, name), { recursive: true, verbatimSymlinks: true })
  }
  copyFileSync(join(root, 'test/conformance', driver), join(directory, driver))
  chmodSync(directory, 0o755)
  spawnSync('chmod', ['-R', 'a+rX', directory])
  const own = ['home', 'state', 'tmp'].map((name) => join(directory, name))
  for (const place of own) {
    mkdirSync(place, { mode: 0o700 })
    chownSync(place, otherUser, otherUser)
  }
  const [HOME = '', GLOVEBOX_STATE_DIR = '', TMPDIR = ''] = own
  return {
    directory,
    run: (script, env) =>
      new Promise((resolve, reject) => {
        const child = spawn(process.execPath, ['--test-reporter=tap', script], {
          cwd: directory,
          uid: otherUser,
          gid: otherUser,
          env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME, GLOVEBOX_STATE_DIR, TMPDIR, ...env },
          stdio: ['ignore', 'pipe', 'pipe'],
        })
        let output = ''
        for (const stream of [child.stdout, child.stderr])
          stream.setEncoding('utf8').on('data', (text: string) => (output += text))
        child.on('error', reject)
        child.on('close', (code) => resolve({ code, output }))
      }),
    remove: () => rmSync(directory, { recursive: true, force: true }),
  }
}
