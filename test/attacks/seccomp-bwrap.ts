// Runs a command in a plain bwrap, with or without the compiled filter, always as an unprivileged user and without
// capabilities. User namespaces are left possible and the session shared, so that what is refused is refused by the
// filter and by nothing else.
import { spawnSync } from 'node:child_process'
import { chmodSync, closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compileFilter } from '../../src/backends/bwrap/seccomp/filter.ts'

export interface Ended {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface FilteredBwrap extends Disposable {
  /** Readable inside as /probes. */
  readonly probeDir: string
  run(argv: readonly string[], options: { readonly filter: boolean }): Ended
}

const nobody = 65534
const words = (text: string): string[] => text.split(' ')
const root = [
  '--ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/sbin /sbin --symlink usr/lib /lib --symlink usr/lib64 /lib64',
  '--ro-bind-try /etc/alternatives /etc/alternatives',
  '--proc /proc --dev /dev --tmpfs /tmp --dir /tmp/work --chdir /tmp/work',
].flatMap(words)
const boundary = words('--unshare-all --unshare-user --uid 1000 --gid 1000 --cap-drop ALL --die-with-parent')
const environment = words('--clearenv --setenv PATH /usr/bin:/usr/sbin --setenv HOME /tmp --setenv LANG C.UTF-8')

export function openFilteredBwrap(): FilteredBwrap {
  const probeDir = mkdtempSync(join(tmpdir(), 'glovebox-seccomp-'))
  chmodSync(probeDir, 0o755)
  const filterFile = join(probeDir, 'filter.bpf')
  const arch = process.arch === 'arm64' ? 'arm64' : 'x64'
  writeFileSync(filterFile, compileFilter({ arch, pty: true }).bytes)
  const asNobody = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {}
  return {
    probeDir,
    run(argv, { filter }) {
      // bwrap reads the filter to the end of the descriptor, so each run needs one of its own.
      const descriptor = openSync(filterFile, 'r')
      try {
        const filtering = filter ? ['--seccomp', '3'] : []
        const args = [
          ...boundary,
          ...root,
          ...environment,
          '--ro-bind',
          probeDir,
          '/probes',
          ...filtering,
          '--',
          ...argv,
        ]
        const child = spawnSync('/usr/bin/bwrap', args, {
          ...asNobody,
          cwd: '/',
          encoding: 'utf8',
          stdio: ['ignore', 'pipe', 'pipe', filter ? descriptor : 'ignore'],
          timeout: 60_000,
          killSignal: 'SIGKILL',
        })
        if (child.error !== undefined) throw child.error
        return { status: child.status, stdout: child.stdout, stderr: child.stderr }
      } finally {
        closeSync(descriptor)
      }
    },
    [Symbol.dispose]() {
      rmSync(probeDir, { recursive: true, force: true })
    },
  }
}
