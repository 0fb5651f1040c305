// What runs under gVisor is no process of the host's that the warden could find and end, and its containers are not removed with their
// end. So a shell that outlives this process asks the daemon to do both: for every container that this process made, but for those
// that were made to go on without it.
import { Socket } from 'node:net'
import type { DockerCli } from './cli.ts'

export interface AfterUs {
  /** To be called when nothing is left for it to end. */
  dismiss(): void
}

/**
 * `$0` is docker. End of file means that we are gone. Twice, since what was being made a moment ago may be there only now.
 * SECURITY: test/attacks/processes: "a host that is killed leaves nothing running"
 */
const script = [
  'read -r word && exit 0',
  'for pause in 0 0.3 1; do',
  '  sleep "$pause"',
  '  "$0" ps --all --no-trunc --filter "$1" --filter "$2" --format \'{{.ID}} {{.Label "dev.glovebox.lasting"}}\' |',
  '    while read -r id lasting; do [ -n "$lasting" ] || "$0" rm --force --volumes -- "$id"; done',
  'done',
].join('\n')

export function endContainersAfterUs(cli: DockerCli, labels: Readonly<Record<string, string>>): AfterUs {
  const filters = ['installation', 'owner'].map((name) => `label=dev.glovebox.${name}=${labels[name] ?? ''}`)
  const { stdin } = cli.startAside(script, filters)
  // It must not keep us from ending.
  if (stdin instanceof Socket) stdin.unref()
  return { dismiss: () => stdin.end('over\n') }
}
