// A docker that is slow to hand on its input, and a swap in that moment: what a container's mounts are laid over is another directory than
// the one that is there when its first process looks.
import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findDocker } from '../../src/backends/docker/facts.ts'

/** While a container that binds the directory is started, another `lead` is there; when it runs, the one that was there before is again. */
const script = (docker: string, aimed: string): string => `#!/bin/sh
workspace=$(cat ${aimed})
case " $* " in *" run "*"source=$workspace,"*) ;; *) exec ${docker} "$@" ;; esac
name=; for word; do [ "$before" = --name ] && name=$word; before=$word; done
mv "$workspace/lead" "$workspace/aside" && cp -Rp "$workspace/aside" "$workspace/lead" || exit 1
pipes=$(mktemp -d); mkfifo "$pipes/input"
exec 3<&0
{
  until [ "$(${docker} inspect --format '{{.State.Running}}' "$name")" = true ]; do sleep 0.05; done
  mv "$workspace/lead" "$workspace/decoy" && mv "$workspace/aside" "$workspace/lead"
  rm -rf "$workspace/decoy"
  exec cat <&3
} >"$pipes/input" 2>/dev/null &
exec ${docker} "$@" <"$pipes/input" 3<&-
`

export function aimWhileStarting(image: string) {
  const found = findDocker()
  if (!('path' in found)) throw new Error(found.reason)
  const directory = mkdtempSync(join(tmpdir(), 'glovebox-aim-'))
  chmodSync(directory, 0o755)
  const docker = join(directory, 'docker')
  const aimed = join(directory, 'aimed')
  const slow = join(directory, 'slow')
  copyFileSync(found.path, docker)
  chmodSync(docker, 0o755)
  writeFileSync(aimed, '/nowhere')
  writeFileSync(slow, script(docker, aimed), { mode: 0o755 })
  return {
    shown: slow,
    at: found.path,
    aim: (workspace: string) => writeFileSync(aimed, workspace),
    /** What a container shows that nobody has looked at. */
    undefended(workspace: string): string {
      const mounts = ['', '/lead', '/lead/kept'].flatMap((below) => [
        '--mount',
        `type=bind,source=${workspace}${below},target=/workspace${below}${below === '/lead/kept' ? ',readonly' : ''}`,
      ])
      const writing = 'read -r go; touch /workspace/lead/kept/x && echo WRITTEN'
      const command = ['--entrypoint=/bin/sh', image, '-c', writing]
      const name = `glovebox-aimed-${process.pid}`
      const { uid } = statSync(workspace)
      const args = ['run', '--rm', '--interactive', '--network=none', `--user=${uid}`, '--name', name]
      return execFileSync(slow, [...args, ...mounts, ...command], { encoding: 'utf8', input: 'go\n' })
    },
    remove: () => rmSync(directory, { recursive: true }),
  }
}
