// Is bubblewrap usable here, and if not, what mends it? It is asked by running it.
import type { Probe } from '../../contract/backend.ts'
import type { HostFacts } from './facts.ts'
import type { Launcher } from './launcher/launcher.ts'
import type { LimitsPlan } from './limits/limits.ts'
import { bindSystem } from './system.ts'

export interface ProbeParts {
  readonly facts: HostFacts
  readonly limitsPlan: LimitsPlan
  readonly launcher: Promise<Launcher>
}

export async function probeBwrap({ facts, limitsPlan, launcher }: ProbeParts): Promise<Probe> {
  const { version } = facts
  let said: string
  try {
    said = await trial(await launcher, facts)
  } catch (error) {
    return {
      available: false,
      version,
      reason: error instanceof Error ? error.message : String(error),
      fix: 'Run as an ordinary user.',
    }
  }
  if (said !== '') return { available: false, version, reason: said, fix: fixFor(said) }
  return { available: true, version, notes: notesFor(facts, limitsPlan) }
}

async function trial(launcher: Launcher, facts: HostFacts): Promise<string> {
  const namespaces = ['user', 'pid', 'ipc', 'uts', 'cgroup', 'net'].map((name) => `--unshare-${name}`)
  const child = await launcher.launch({
    file: facts.bwrapPath,
    args: [
      ...namespaces,
      '--disable-userns',
      '--die-with-parent',
      ...bindSystem(facts.system),
      '--proc',
      '/proc',
      '--dev',
      '/dev',
      '--',
      '/bin/true',
    ],
    stdin: 'none',
    extraDescriptors: [],
  })
  let said = ''
  child.stdout.resume()
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')))
  const [end] = await Promise.all([child.ended, new Promise((resolve) => child.stderr.once('close', resolve))])
  if (end.code === 0) return ''
  return said.trim() === '' ? `bwrap ended with ${end.code ?? end.signal}` : said.trim()
}

function fixFor(said: string): string {
  if (/user namespace|uid map|setting up|Operation not permitted|No permissions/i.test(said))
    return 'Allow unprivileged user namespaces: sysctl -w kernel.unprivileged_userns_clone=1 (Debian), or kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu); in a container, also allow its seccomp and masked /proc.'
  return 'Run the same bwrap command by hand to see more.'
}

function notesFor(facts: HostFacts, limitsPlan: LimitsPlan): readonly string[] {
  const [major = 0, minor = 0] = facts.version.split('.').map(Number)
  return [
    ...(major === 0 && minor < 12
      ? [
          `${facts.version} follows a link below a mount destination (CVE-2026-87766); Glovebox refuses such links itself`,
        ]
      : []),
    ...(facts.bindsByDescriptor || facts.startedByRoot
      ? []
      : ['mounts are bound by path: this version knows no --bind-fd']),
    ...limitsPlan.missing.map(({ what, why, fix }) => `${what} is not limited: ${why}. ${fix}`),
  ]
}
