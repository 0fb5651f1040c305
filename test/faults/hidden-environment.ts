// A value of an exec's environment, looked for everywhere on the host while its container runs and after its end. Only the guest's own
// processes may carry it, since it was given to them: neither the server, nor docker and the shell that holds its pipes, nor what the
// daemon starts beside a container.
import { execFileSync, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { changedFilesWith, ofTheHost, processesWith } from '../fixtures/value-search.ts'
import { containersAt } from './exec-targets.ts'
import { ended, letGo, textOf, until, untilGo, type Start } from './lasting-execs.ts'

const docker = (...args: readonly string[]): string => execFileSync('docker', args, { encoding: 'utf8' })

interface Inspected {
  readonly GraphDriver?: { readonly Data?: { readonly UpperDir?: string } | null }
}

interface Looking {
  readonly since: Date
  /** What the daemon says of the container, whole. */
  readonly told: string
}

/** Where it was found: command lines, environments of the host's own processes, and files that were changed meanwhile. */
function traces(text: string, { since, told }: Looking): readonly string[] {
  const upper = (JSON.parse(told) as readonly Inspected[]).map(({ GraphDriver }) => GraphDriver?.Data?.UpperDir ?? '')
  const kept = join(docker('info', '--format', '{{.DockerRootDir}}').trim(), 'containers')
  const places = [tmpdir(), '/tmp', '/dev/shm', '/run', kept, ...upper.filter((path) => path !== '')]
  return [
    ...processesWith('cmdline', text).map((pid) => `command line of ${pid}`),
    ...ofTheHost(processesWith('environ', text)).map((pid) => `environment of ${pid}`),
    ...changedFilesWith(text, places, since),
  ]
}

export function itHidesTheEnvironment(start: Start, { isGvisor = false } = {}): void {
  it('show no value of an environment in docker inspect, a log, a command line, an environment or a file', async () => {
    const since = new Date(Date.now() - 1000)
    const server = await start()
    const canary = `canary-${randomBytes(12).toString('hex')}`
    const command = `printf %s "$TOKEN" | sha256sum; ${untilGo}`
    const exec = await server.begin({ project_id: 'demo', exec: { kind: 'shell', command, env: { TOKEN: canary } } })
    const hash = createHash('sha256').update(canary).digest('hex')
    // Control: the guest has it; and where its processes are the host kernel's, the search finds it there.
    await until(() => textOf(server, exec.stdout_path).startsWith(hash))
    expect(processesWith('environ', canary).length > 0).toBe(!isGvisor)
    const [container = ''] = containersAt(server.place)
    const told = docker('inspect', container)
    expect(told).not.toContain(canary)
    // Control: what docker is told is found there.
    expect(told).toContain('dev.glovebox.lasting')
    expect(told).toContain(exec.artifacts_dir)
    // Control: so is what the daemon writes down of each container, in its data and for the runtime.
    const spoken = traces(exec.artifacts_dir, { since, told }).map((path) => path.split('/').at(-1))
    expect(spoken).toEqual(expect.arrayContaining(['config.v2.json', 'config.json', 'meta.json']))
    expect(traces(canary, { since, told })).toEqual([])
    expectFound({ since, told })
    letGo(server)
    expect(await server.until(exec.exec_id, ended)).toMatchObject({ status: 'SUCCEEDED', env_keys: ['TOKEN'] })
    expect(traces(canary, { since, told })).toEqual([])
    expect(server.logs()).not.toContain(canary)
  })
}

/** Control: one in the arguments of a shell, in an environment and in a file of each place is found by the same search. */
function expectFound(looking: Looking): void {
  const planted = `planted-${randomBytes(12).toString('hex')}`
  const inArguments = spawn('/bin/sh', ['-c', `read line; : ${planted}`])
  const inEnvironment = spawn('/bin/sh', ['-c', 'read line; :'], { env: { TOKEN: planted } })
  const directories = [tmpdir(), '/dev/shm', '/run'].map((place) => mkdtempSync(join(place, 'glovebox-planted-')))
  const files = directories.map((directory) => join(directory, 'leak'))
  for (const file of files) writeFileSync(file, `before ${planted} behind`)
  try {
    expect(traces(planted, looking).toSorted()).toEqual(
      [`command line of ${inArguments.pid}`, `environment of ${inEnvironment.pid}`, ...files].toSorted(),
    )
  } finally {
    for (const carrier of [inArguments, inEnvironment]) carrier.kill()
    for (const directory of directories) rmSync(directory, { recursive: true })
  }
}
