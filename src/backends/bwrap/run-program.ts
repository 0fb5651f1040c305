// Runs a helper program of the host to its end, with a deadline.
import type { Spawner } from '../../process/spawn.ts'
import type { RunProgram } from './limits/limits.ts'

export const programRunner =
  (spawner: Spawner): RunProgram =>
  async ([file, ...args], { env, timeoutMs }) => {
    const child = spawner.spawnChild({ file, args, cwd: '/', env, stdin: 'none', detached: false })
    const deadline = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
    let stderr = ''
    child.stdout.resume()
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString('utf8')))
    const end = await child.ended
    clearTimeout(deadline)
    return { code: end.code ?? 125, stderr: end.error === undefined ? stderr : end.error.message }
  }
