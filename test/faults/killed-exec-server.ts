// A server that is killed at any moment, and what the next one finds. An auditor looks at files and answers alone.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { ExecManifest, ExecMeta, ExecRecord } from '../../src/contract/exec-record.ts'
import { execFailpointNames, type ExecFailpointName } from '../../src/execs/failpoints.ts'
import type { ExecRow } from '../../src/contract/store.ts'
import { readMeta } from '../../src/execs/record.ts'
import { openStore } from '../../src/store/open.ts'
import { makePlace, shell, startExecServer, type ExecServer, type ServerOptions } from '../fixtures/exec-server.ts'
import { execTarget, type ExecTarget } from './exec-targets.ts'

export interface Round {
  /** Execs of which the caller was told, by id. */
  readonly answered: readonly string[]
  readonly faults: readonly string[]
  readonly statuses: Readonly<Record<string, number>>
}

/** One request under its key. */
export interface Sent {
  readonly key: string
  readonly mark: string
  /** With which its command ends. Default: 0. */
  readonly exitCode?: number
  /** Of the exec, if anybody was told. */
  id?: string
}

const clients = 4

/**
 * Callers send execs, each under a key, until the server is killed; then the next one is started on what is left, and every
 * request that got no answer is sent again under its key.
 */
export async function killRound(
  afterMs: number,
  options: ServerOptions = {},
  traces: (place: string) => readonly string[] = () => [],
): Promise<Round> {
  const place = options.place ?? makePlace()
  const first = await startExecServer({ ...options, place })
  const sent: Sent[] = []
  let isDead = false
  const call = async (client: number): Promise<void> => {
    for (let index = 0; !isDead; index++) {
      const mark = `${client}-${index}`
      const one: Sent = { key: `key-${mark}`, mark }
      sent.push(one)
      try {
        one.id = (await send(first, one, index % 2 === 0)).exec_id
      } catch {
        return
      }
    }
  }
  const calling = Promise.all(Array.from({ length: clients }, (_, client) => call(client)))
  await pause(afterMs)
  isDead = true
  await first.kill()
  await calling
  const answered = sent.flatMap(({ id }) => (id === undefined ? [] : [id]))
  const second = await startExecServer({ ...options, place })
  try {
    const { faults, statuses } = await audit(second, sent)
    return { answered, statuses, faults: [...faults, ...(await leftBehind(second, traces))] }
  } finally {
    await second.remove()
  }
}

export type StepOfOne = Exclude<ExecFailpointName, 'exec.cancel.beforeFiles' | 'exec.putBack.beforeRow'>

/** What a server goes through with one exec that nobody cancels, and that no other server had. */
export const stepsOfOne: readonly StepOfOne[] = execFailpointNames.filter(
  (name) => name !== 'exec.cancel.beforeFiles' && name !== 'exec.putBack.beforeRow',
)

/** Of a place whose server is gone: the only exec, by its row and by its file. */
export async function readExec(place: string): Promise<{ readonly row: ExecRow; readonly meta: ExecMeta }> {
  const store = await openStore({ url: join(place, 'state', 'glovebox.db') })
  try {
    const [row, ...more] = (await store.execs.list({}, { limit: 2 })).rows
    if (row === undefined || more.length > 0) throw new Error('there is not one exec')
    const meta = readMeta(join(place, 'data', 'workspace'), row)
    if (meta === undefined) throw new Error(`${row.exec_id} has no meta.json`)
    return { row, meta }
  } finally {
    await store.close()
  }
}

export interface Killed {
  /** Its failpoint was reached, and ended it. */
  readonly wasReached: boolean
  readonly faults: readonly string[]
  readonly end: ExecRecord
}

export interface KilledAtOptions {
  readonly target?: ExecTarget
  readonly exitCode?: number
}

/** One exec under a key, whose server ends itself at a named place; then the next one is started, and asked the same again. */
export async function killedAt(failpoint: ExecFailpointName, options: KilledAtOptions = {}): Promise<Killed> {
  const { target = execTarget('bwrap'), exitCode = 0 } = options
  const first = await startExecServer({ ...target.options, env: { GLOVEBOX_FAILPOINTS: `${failpoint}=kill` } })
  const one: Sent = { key: 'key', mark: 'one', exitCode }
  const ended = new Promise<boolean>((resolve) =>
    first.child.once('exit', (_, signal) => resolve(signal === 'SIGKILL')),
  )
  const answered = send(first, one, true).then(
    ({ exec_id }) => (one.id = exec_id),
    () => undefined,
  )
  // An answer tells that the place was passed, or never reached.
  const wasReached = await Promise.race([ended, answered.then((id) => (id === undefined ? ended : false))])
  await first.kill()
  const second = await startExecServer({ ...target.options, place: first.place })
  try {
    const { faults } = await audit(second, [one])
    const { items } = (await second.ask('GET', '/sandbox/execs')).json as { readonly items: readonly ExecRecord[] }
    const [end] = items
    if (end === undefined || items.length > 1) throw new Error(`one request made ${items.length} execs`)
    const left = await leftBehind(second, target.traces)
    return { wasReached, faults: [...faults, ...left], end }
  } finally {
    await second.kill()
    target.clear(second.place)
    await second.remove()
  }
}

/** What is there of its execs after a while, and of itself after its stop. */
export async function leftBehind(
  server: ExecServer,
  traces: (place: string) => readonly string[],
): Promise<readonly string[]> {
  const { place } = server
  // What nobody works on any more is swept when a server starts, behind its first answers.
  await untilNone(() => traces(place))
  await server.stop()
  // What its sandboxes were made of may be a moment behind its own end.
  await untilNone(() => survivors(place))
  return [...traces(place), ...survivors(place)].map((what) => `left behind: ${what}`)
}

async function untilNone(list: () => readonly string[]): Promise<void> {
  const grace = performance.now() + 20_000
  while (list().length > 0 && performance.now() < grace) await pause(100)
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

export const send = (server: ExecServer, { key, mark, exitCode = 0 }: Sent, waits: boolean): Promise<ExecRecord> => {
  const leave = `echo left ${mark} > /workspace/artifacts/${mark}`
  const body = shell(`echo ${mark} >> ran-${mark}; ${leave}; echo out ${mark}; sleep 0.05; exit ${exitCode}`)
  return waits ? server.exec(body, { 'idempotency-key': key }) : server.begin(body, { 'idempotency-key': key })
}

const trueEnd = ({ exitCode = 0 }: Sent): string =>
  exitCode === 0 ? 'SUCCEEDED 0 null' : `FAILED ${exitCode} exit_nonzero`

/** Asks for each of them again under its key, and holds what is said of it against what it left. */
export async function audit(server: ExecServer, sent: readonly Sent[]) {
  const faults: string[] = []
  const statuses: Record<string, number> = {}
  const check = (what: string, holds: boolean): void => void (holds || faults.push(what))
  for (const one of sent) {
    const repeated = await send(server, one, true)
    check(
      `${one.mark}: the id under its key is the one that was answered`,
      one.id === undefined || one.id === repeated.exec_id,
    )
    const ended = await server.until(repeated.exec_id, ({ ended_at }) => ended_at !== null)
    statuses[ended.status] = (statuses[ended.status] ?? 0) + 1
    const isLost = ended.status === 'LOST'
    const said = `${ended.status} ${ended.exit_code} ${ended.error_reason}`
    check(`${one.mark}: ${said} is true or LOST`, isLost || said === trueEnd(one))
    const work = join(server.workspace, 'projects/demo/work', `ran-${one.mark}`)
    const ran = existsSync(work) ? readFileSync(work, 'utf8').split('\n').length - 1 : 0
    check(`${one.mark}: ran ${ran} times`, isLost ? ran <= 1 : ran === 1)
    const {
      layout: _layout,
      image_asked: _asked,
      boundary_id: _id,
      mounts: _mounts,
      ...meta
    } = JSON.parse(readFileSync(join(server.workspace, ended.artifacts_dir, 'meta.json'), 'utf8')) as ExecMeta
    check(
      `${one.mark}: meta.json says what the row says`,
      JSON.stringify(sorted(meta)) === JSON.stringify(sorted(ended)),
    )
    const kept = readdirSync(join(server.workspace, ended.artifacts_dir)).toSorted().join(' ')
    check(
      `${one.mark}: its directory is whole: ${kept}`,
      kept === 'files manifest.json meta.json stderr.txt stdout.txt',
    )
    const { entries } = JSON.parse(
      readFileSync(join(server.workspace, ended.artifacts_dir, 'manifest.json'), 'utf8'),
    ) as ExecManifest
    const files = join(server.workspace, ended.artifacts_dir, 'files')
    check(
      `${one.mark}: its manifest lists what is there, with its hash`,
      JSON.stringify(entries.map(({ path, sha256 }) => [path, sha256])) ===
        JSON.stringify(readdirSync(files).map((name) => [name, sha256Of(join(files, name))])),
    )
    check(`${one.mark}: what it left is listed`, isLost || entries[0]?.path === one.mark)
    if (!isLost)
      check(
        `${one.mark}: its output is whole`,
        readFileSync(join(server.workspace, ended.stdout_path), 'utf8') === `out ${one.mark}\n`,
      )
  }
  return { faults, statuses }
}

const sha256Of = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex')

const sorted = (value: object): object =>
  Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))

/** Processes of the host that name this place: what a dead server left running. */
export function survivors(place: string): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(place)
      } catch {
        return false
      }
    })
}
