// Variables that make programs load or run something: those of an exec are its command's own. No process that the server starts around
// it has them: not the one that makes the boundary, nor the shell that waits in it.
import { existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { shell, startExecServer, type ExecServer } from '../fixtures/exec-server.ts'
import { until } from './command-line.ts'

let server: ExecServer
beforeAll(async () => {
  server = await startExecServer()
})
afterAll(() => server.remove())

const canary = 'canary-of-the-environment'
/** What is named here is planted below, and leaves a trace of whoever runs it. */
const planted = '/workspace/work/planted'
const env = {
  PATH: `/${canary}:/usr/local/bin:/usr/bin:/bin`,
  LD_PRELOAD: `/${canary}.so`,
  LD_LIBRARY_PATH: `/${canary}`,
  LD_AUDIT: `/${canary}.so`,
  PERL5OPT: `-I/${canary}`,
  GIT_SSH_COMMAND: `echo ${canary}`,
  PYTHONSTARTUP: `/${canary}.py`,
  NODE_OPTIONS: `--require=/${canary}.js`,
  BASH_ENV: planted,
  ENV: planted,
  CANARY: canary,
}

interface Seen {
  readonly pid: number
  readonly parent: number
  readonly program: string
  readonly words: readonly string[]
  readonly hasCanary: boolean
}

/** Undefined: it has ended meanwhile. */
function look(pid: number): Seen | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return {
      pid,
      parent: Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]),
      program: basename(readlinkSync(`/proc/${pid}/exe`)),
      words: readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0'),
      hasCanary: readFileSync(`/proc/${pid}/environ`, 'latin1').includes(canary),
    }
  } catch {
    return undefined
  }
}

function below(pid: number): readonly Seen[] {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => look(Number(name)) ?? [])
  const children = (of: number): readonly Seen[] =>
    all.filter(({ parent }) => parent === of).flatMap((each) => [each, ...children(each.pid)])
  return children(pid)
}

it('variables that load and run programs reach the command of an exec, and none of our own processes', async () => {
  const work = join(server.workspace, 'projects/demo/work')
  await server.exec(
    shell(`echo 'echo "$(cat /proc/$$/comm) $(tr "\\0" " " </proc/$$/cmdline)" >>${planted}-by' >${planted}`),
  )
  // As it began: a login shell sets a PATH of its own.
  const script = `tr '\\0' '\\n' </proc/$$/environ; touch begun; while [ ! -e enough ]; do sleep 0.1; done`
  const exec = await server.begin({ project_id: 'demo', exec: { kind: 'shell', command: script, env } })
  await until('the command is at work', () => existsSync(join(work, 'begun')))
  const seen = below(server.pid)
  const mine = seen.filter(({ hasCanary }) => hasCanary)
  // The command and what it runs, and nothing else that is there for it.
  expect(mine.map(({ program }) => program)).toContain('bash')
  expect(mine.find(({ program }) => program === 'bash')?.words).toEqual(['bash', '-lc', script, ''])
  expect(mine.filter(({ program }) => program !== 'bash' && program !== 'sleep')).toEqual([])
  const helpers = seen.filter(({ hasCanary }) => !hasCanary)
  expect(helpers.map(({ program }) => program)).toContain('bwrap')
  writeFileSync(join(work, 'enough'), '')
  const ended = await server.until(exec.exec_id, ({ status }) => status !== 'RUNNING')
  expect(ended).toMatchObject({ status: 'SUCCEEDED', env_keys: Object.keys(env).toSorted() })
  const told = (await server.ask('GET', `/sandbox/execs/${exec.exec_id}/stdout`)).text
  for (const [name, value] of Object.entries(env)) expect(told).toContain(`${name}=${value}\n`)
  // Whoever obeys BASH_ENV here is the command; the shells that wait for it and start it would have run the file before.
  const by = readFileSync(join(work, 'planted-by'), 'utf8').trimEnd().split('\n')
  expect(by).toEqual([`bash bash -lc ${script}`])
})

it('the same variables of the server’s own environment reach no exec', async () => {
  // Without what would keep the server itself from starting.
  const theirs = { ...env, PATH: `${process.env['PATH'] ?? ''}:/${canary}`, NODE_OPTIONS: `--title=${canary}` }
  const own = await startExecServer({ env: theirs })
  try {
    const exec = await own.exec(shell(`tr '\\0' '\\n' </proc/$$/environ; cat /proc/[0-9]*/environ 2>/dev/null; true`))
    expect(exec.status).toBe('SUCCEEDED')
    const told = (await own.ask('GET', `/sandbox/execs/${exec.exec_id}/stdout`)).text
    expect(told).toContain('GLOVEBOX=1\n')
    expect(told).not.toContain(canary)
    // Control: they are the server's.
    expect(look(own.pid)).toMatchObject({ hasCanary: true })
  } finally {
    await own.remove()
  }
})
