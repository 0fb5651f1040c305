// A server that is killed again and again, as by a supervisor that starts what dies at once: callers go on asking under their keys all the
// while, and when it is left alone at last, every request is one exec that ran once.
import { makePlace, startExecServer, type ExecServer } from '../fixtures/exec-server.ts'
import type { ExecTarget } from './exec-targets.ts'
import { audit, leftBehind, pause, send, type Sent } from './killed-exec-server.ts'

export interface CrashLoop {
  /** Of servers that served, and of ones that had not begun to. */
  readonly kills: { readonly serving: number; readonly starting: number }
  readonly sent: number
  /** Execs of which a caller was told before the last kill. */
  readonly answered: number
  readonly statuses: Readonly<Record<string, number>>
  readonly faults: readonly string[]
}

export interface CrashLoopOptions {
  readonly forMs: number
  readonly target: ExecTarget
  /** What must run to its end when the loop is over is bounded by it. */
  readonly mostSent: number
}

const clients = 3
const everyMs = 300
const exitCode = 7

export async function crashLoop({ forMs, target, mostSent }: CrashLoopOptions): Promise<CrashLoop> {
  const { options } = target
  const place = makePlace()
  const kills = { serving: 0, starting: 0 }
  const sent: Sent[] = []
  let server: ExecServer | undefined
  let isOver = false
  const call = async (client: number): Promise<void> => {
    for (let index = 0; !isOver && sent.length < mostSent; index++) {
      const mark = `${client}-${index}`
      const one: Sent = { key: `key-${mark}`, mark, exitCode }
      sent.push(one)
      // Under its key, until somebody has answered.
      while (!isOver && one.id === undefined) {
        const asked = server
        const answered = asked === undefined ? undefined : await send(asked, one, false).catch(() => undefined)
        if (answered === undefined) await pause(20)
        else one.id = answered.exec_id
      }
    }
  }
  // Its first start is its own, so that there is a token.
  server = await startExecServer({ ...options, place })
  const calling = Promise.all(Array.from({ length: clients }, (_, client) => call(client)))
  for (const until = performance.now() + forMs; performance.now() < until;) {
    await pause(everyMs)
    await server.kill()
    kills.serving += 1
    server = undefined
    if (await killStarting({ ...options, place })) kills.starting += 1
    server = await startExecServer({ ...options, place })
  }
  isOver = true
  await server.kill()
  await calling
  const answered = sent.filter(({ id }) => id !== undefined).length
  const last = await startExecServer({ ...options, place })
  try {
    const { faults, statuses } = await audit(last, sent)
    const left = await leftBehind(last, target.traces)
    return { kills, sent: sent.length, answered, statuses, faults: [...faults, ...left] }
  } finally {
    await last.kill()
    target.clear(place)
    await last.remove()
  }
}

/** It has so long from its first instruction. False where it was quicker, and served when it was killed. */
async function killStarting(options: Parameters<typeof startExecServer>[0]): Promise<boolean> {
  const under = ['timeout', '--foreground', '--signal=KILL', `${everyMs / 1000}`]
  const started = await startExecServer({ ...options, under }).catch(() => undefined)
  if (started === undefined) return true
  if (started.child.exitCode === null && started.child.signalCode === null)
    await new Promise((resolve) => started.child.once('exit', resolve))
  return false
}
