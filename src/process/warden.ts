// A warden outlives this process for a moment, in case it is killed: it then ends what still carries a token that only our
// children carry. The kernel's own means (die with parent, pid namespaces) have gaps of microseconds while a boundary is
// being set up, in which nothing would ever end what is left. It is a shell that waits on a pipe which only we hold.
import type { Spawner } from './spawn.ts'

export interface WardenRequest {
  /** Appears among the arguments of every process that is to be ended, and of no other. */
  readonly token: string
  /** The id under which those processes run: the warden can end no others. */
  readonly uid?: number
  readonly gid?: number
}

// The token comes on standard input, or the search would find the searcher. End of file means that we are gone.
const script = [
  'read -r token || exit 0',
  'read -r never',
  'for pause in 0.05 0.2; do',
  '  sleep "$pause"',
  '  for file in $(printf \'%s\' "$token" | grep -laFf - /proc/[0-9]*/cmdline 2>/dev/null); do',
  '    pid=${file#/proc/}',
  '    kill -9 "${pid%/cmdline}" 2>/dev/null',
  '  done',
  'done',
].join('\n')

/** The command of a warden, for whoever starts one by other means. Its standard input is the pipe: one line with the token. */
export const wardenCommand: readonly [string, ...string[]] = ['/bin/sh', '-c', script]
export const wardenEnvironment = { PATH: '/usr/bin:/bin' } as const

export interface Warden {
  /** To be called when nothing is left for it to end. */
  dismiss(): void
}

export function startWarden(spawner: Spawner, { token, uid, gid }: WardenRequest): Warden {
  const [file, ...args] = wardenCommand
  const child = spawner.spawnChild({
    file,
    args,
    cwd: '/',
    env: wardenEnvironment,
    stdin: 'pipe',
    // In a session of its own: a signal to our process group must not reach it.
    detached: true,
    ...(uid === undefined ? {} : { uid }),
    ...(gid === undefined ? {} : { gid }),
  })
  child.stdin?.on('error', () => {})
  child.stdin?.write(`${token}\n`)
  child.stdout.resume()
  child.stderr.resume()
  child.unref()
  return {
    dismiss() {
      child.kill('SIGKILL')
      child.stdin?.destroy()
    },
  }
}
