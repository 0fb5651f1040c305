// A server that is killed at any moment, and what the next one finds. An auditor looks at files and answers alone.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { ExecMeta, ExecRecord } from '../../src/contract/exec-record.ts'
import { makePlace, shell, startExecServer, type ExecServer, type ServerOptions } from '../fixtures/exec-server.ts'

export interface Round {
  /** Execs of which the caller was told, by id. */
  readonly answered: readonly string[]
  readonly faults: readonly string[]
  readonly statuses: Readonly<Record<string, number>>
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
  const sent: { readonly key: string; readonly mark: string; id?: string }[] = []
  let isDead = false
  const call = async (client: number): Promise<void> => {
    for (let index = 0; !isDead; index++) {
      const mark = `${client}-${index}`
      const one: (typeof sent)[number] = { key: `key-${mark}`, mark }
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
    // What nobody works on any more is swept when a server starts, behind its first answers.
    await untilNone(() => traces(place))
    await second.stop()
    // What its sandboxes were made of may be a moment behind its own end.
    await untilNone(() => survivors(place))
    const left = [...traces(place), ...survivors(place)]
    return { answered, statuses, faults: [...faults, ...left.map((what) => `left behind: ${what}`)] }
  } finally {
    await second.remove()
  }
}

async function untilNone(list: () => readonly string[]): Promise<void> {
  const grace = performance.now() + 20_000
  while (list().length > 0 && performance.now() < grace) await pause(100)
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

const send = (
  server: ExecServer,
  { key, mark }: { readonly key: string; readonly mark: string },
  waits: boolean,
): Promise<ExecRecord> => {
  const body = shell(`echo ${mark} >> ran-${mark}; echo out ${mark}; sleep 0.05; exit 0`)
  return waits ? server.exec(body, { 'idempotency-key': key }) : server.begin(body, { 'idempotency-key': key })
}

async function audit(
  server: ExecServer,
  sent: readonly { readonly key: string; readonly mark: string; id?: string }[],
) {
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
    check(`${one.mark}: ${ended.status} is true or LOST`, ['SUCCEEDED', 'LOST'].includes(ended.status))
    const work = join(server.workspace, 'projects/demo/work', `ran-${one.mark}`)
    const ran = existsSync(work) ? readFileSync(work, 'utf8').split('\n').length - 1 : 0
    check(`${one.mark}: ran ${ran} times`, ended.status === 'LOST' ? ran <= 1 : ran === 1)
    const {
      layout: _layout,
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
    if (ended.status === 'SUCCEEDED')
      check(
        `${one.mark}: its output is whole`,
        readFileSync(join(server.workspace, ended.stdout_path), 'utf8') === `out ${one.mark}\n`,
      )
  }
  return { faults, statuses }
}

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
