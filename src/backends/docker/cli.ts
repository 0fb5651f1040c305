// docker's own command line, which is the only way to the daemon: contexts then work as their user has set them up. Every question has a
// deadline; a daemon that hangs must not hang us.
import { closeSync, openSync } from 'node:fs'
import { kill } from 'node:process'
import type { Writable } from 'node:stream'
import { inTime, late } from '../../process/in-time.ts'
import { joined, sessionCommand } from '../../process/on-terminal.ts'
import type { SpawnedChild, Spawner } from '../../process/spawn.ts'
import type { Terminal } from '../../process/terminal.ts'

export interface Answer {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  /** It took longer than it may. */
  readonly isLate?: boolean
  /** It was not asked, or not waited for, since the daemon is known not to answer. */
  readonly isAway?: boolean
}

export interface Asking {
  readonly deadlineMs?: number
  /** Not asked while the daemon is known not to answer, nor waited for when that becomes known: code null. */
  readonly unlessAway?: boolean
}

export interface DockerCli {
  /** Runs to its end. Code null: it could not be started, or took longer than it may. */
  ask(args: readonly string[], options?: Asking): Promise<Answer>
  /** Starts a shell in docker's own environment, which outlives us. Its script finds the program in `$0`. */
  startAside(script: string, args: readonly string[]): { readonly pid: number; readonly stdin: Writable }
  /** Runs on, with pipes for its input and both outputs; or on a terminal, as docker wants it where it makes one inside. */
  start(args: readonly string[], terminal?: Terminal): SpawnedChild
}

const usualDeadlineMs = 30_000
const mostBytes = 4 * 1024 * 1024

/** What docker itself reads. SECURITY: nothing else of the operator's environment reaches it, let alone a container.
 * test/attacks/docker: "a secret of the operator's environment reaches neither docker nor the container" */
const passed = [
  'HOME',
  'PATH',
  'USER',
  'XDG_RUNTIME_DIR',
  'SSH_AUTH_SOCK',
  'DOCKER_HOST',
  'DOCKER_CONTEXT',
  'DOCKER_CONFIG',
  'DOCKER_CERT_PATH',
  'DOCKER_TLS_VERIFY',
  'DOCKER_API_VERSION',
] as const

export function openDockerCli(
  spawner: Spawner,
  path: string,
  operatorEnv: Readonly<Record<string, string | undefined>>,
): DockerCli {
  const env = Object.fromEntries(
    passed.flatMap((name) => {
      const value = operatorEnv[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )
  // In a session of its own: what a terminal sends to our group is ours to answer.
  const spawn = (args: readonly string[], stdin: 'none' | 'pipe'): SpawnedChild =>
    spawner.spawnChild({ file: path, args, cwd: '/', env, stdin, detached: true })
  return {
    start(args, terminal) {
      if (terminal === undefined) return spawn(args, 'pipe')
      const [file, ...words] = sessionCommand(terminal, [path, ...args])
      const stdin = { terminal: terminal.childEnd }
      return asSession(
        joined(spawner.spawnChild({ file, args: words, cwd: '/', env, stdin, detached: true }), terminal),
      )
    },
    startAside(script, args) {
      const nowhere = openSync('/dev/null', 'r+')
      try {
        const child = spawner.startRaw({
          file: '/bin/sh',
          args: ['-c', script, path, ...args],
          cwd: '/',
          // What the script itself needs is found in the usual places.
          env: { PATH: '/usr/local/bin:/usr/bin:/bin', ...env },
          stdio: ['pipe', nowhere, nowhere],
          detached: true,
        })
        child.once('error', () => {})
        child.unref()
        if (child.pid === undefined || child.stdin === null) throw new Error('no shell could be started')
        child.stdin.on('error', () => {})
        return { pid: child.pid, stdin: child.stdin }
      } finally {
        closeSync(nowhere)
      }
    },
    async ask(args, { deadlineMs = usualDeadlineMs } = {}) {
      const child = startOrFault(() => spawn(args, 'none'))
      if (child instanceof Error) return { code: null, stdout: '', stderr: child.message }
      // What docker started, as a plugin or a way to another host, may hold its output when docker itself has ended.
      const told = Promise.all([child.ended, gather(child.stdout), gather(child.stderr)])
      const answer = await inTime(told, deadlineMs)
      if (answer === late) {
        child.kill('SIGKILL')
        for (const stream of [child.stdout, child.stderr]) stream.destroy()
        const stderr = `docker gave no answer within ${deadlineMs / 1000} seconds`
        return { code: null, stdout: '', stderr, isLate: true }
      }
      const [end, stdout, stderr] = answer
      if (end.error !== undefined) return { code: null, stdout: '', stderr: end.error.message }
      return { code: end.code, stdout, stderr }
    },
  }
}

/** Out of descriptors or of memory, for one. Whoever asks in order to end something tries again. */
function startOrFault(start: () => SpawnedChild): SpawnedChild | Error {
  try {
    return start()
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

/** Docker is a child of the shell that leads its session, and ends with it only if both are told. */
function asSession(child: SpawnedChild): SpawnedChild {
  let running = true
  void child.ended.then(() => (running = false))
  return {
    ...child,
    kill(signal) {
      if (!running || child.pid === undefined) return
      try {
        kill(-child.pid, signal)
      } catch {
        // It ends just now.
      }
    },
  }
}

function gather(stream: SpawnedChild['stdout']): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes <= mostBytes) chunks.push(chunk)
  })
  stream.on('error', () => {})
  return new Promise((resolve) => stream.once('close', () => resolve(Buffer.concat(chunks).toString('utf8'))))
}
