// Kills a host process at a random moment of its life, and looks at what it left.
import type { ChildProcess } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { cleanRun, lookAround } from './aftermath.ts'
import { faultGround, type FaultGround, type Starter } from './ground.ts'
import { processesOf } from './traces.ts'

export type Way = 'library' | 'command line'
export const ways: readonly Way[] = ['library', 'command line']

const mark = 'glovebox-guest-of-a-killed-host'

export interface KillOptions {
  readonly starter: Starter
  readonly way: Way
  readonly kills: number
}

export interface KillReport {
  readonly kills: number
  /** Kills that met a living guest: without any, nothing would have been shown. */
  readonly metGuest: number
  /** Kills that met something for the next start to sweep. */
  readonly leftState: number
  /** Last word of the host before its end, and how often. */
  readonly moments: Readonly<Record<string, number>>
  readonly slowestEndMs: number
  readonly faults: readonly string[]
}

export async function killHosts({ starter, way, kills }: KillOptions): Promise<KillReport> {
  const ground = faultGround(starter)
  const report = { kills, metGuest: 0, leftState: 0, moments: {} as Record<string, number>, slowestEndMs: 0 }
  const faults: string[] = []
  try {
    const clean = await cleanRun(ground)
    for (let kill = 0; kill < kills; kill += 1) {
      // A new workspace each time: what the first start in one makes is made under fire, too.
      const workspace = ground.makeDirectory(`workspace-${kill}`)
      const host = startVictim(ground, way, workspace)
      const heard = listen(host)
      await momentOf(kill, way, heard)
      if (kill % 8 === 5) await untilMet(host, ground)
      const metGuest = await end(host, ground)
      const left = await lookAround({ ground, clean, workspace, session: host.pid })
      report.metGuest += metGuest ? 1 : 0
      report.leftState += left.ids.length > 0 ? 1 : 0
      report.slowestEndMs = Math.max(report.slowestEndMs, left.endedAfterMs)
      report.moments[heard.last()] = (report.moments[heard.last()] ?? 0) + 1
      faults.push(...left.faults.map((fault) => `kill ${kill} (${heard.last()}): ${fault}`))
    }
    return { ...report, faults }
  } finally {
    ground.remove()
  }
}

function startVictim(ground: FaultGround, way: Way, workspace: string): ChildProcess {
  if (way === 'library') return ground.startHost('lives.mjs', [workspace, mark])
  const tree = `(setsid sleep 300 &) ; sleep 300 & echo running; exec -a ${mark} sleep 300`
  return ground.startCli(['exec', '--', 'bash', '-c', tree], { cwd: workspace })
}

interface Heard {
  last(): string
  /** Settles when the host says this word, or has ended. */
  until(word: string): Promise<void>
}

function listen(host: ChildProcess): Heard {
  const words: string[] = []
  const news = new EventEmitter()
  host.stderr?.resume()
  host.stdout?.setEncoding('utf8').on('data', (text: string) => {
    words.push(...text.trimEnd().split('\n'))
    news.emit('word')
  })
  host.once('exit', () => news.emit('word'))
  return {
    last: () => words.at(-1) ?? 'nothing said',
    async until(word) {
      while (!words.includes(word) && host.exitCode === null && host.signalCode === null) await once(news, 'word')
    },
  }
}

const libraryWords = ['creating', 'short command', 'long command', 'ending']

/** By the clock, half of them while the first sandbox is being made; or shortly after a word of the host. */
async function momentOf(kill: number, way: Way, heard: Heard): Promise<void> {
  const word = libraryWords[Math.floor(kill / 2) % libraryWords.length] ?? ''
  if (way === 'library' && kill % 2 === 1) {
    await heard.until(word)
    await sleep(Math.random() * 60)
  } else await sleep(Math.random() * (kill % 4 === 0 ? 1200 : 500))
}

const meetsGuest = (host: ChildProcess, ground: FaultGround): boolean =>
  processesOf({ directory: ground.directory, session: host.pid }).some((line) => line.includes(mark))

/** On a busy machine the clock alone may never meet one: the host is held still for each look, and stays so when there is one. */
async function untilMet(host: ChildProcess, ground: FaultGround): Promise<void> {
  const patience = performance.now() + 15_000
  for (;;) {
    host.kill('SIGSTOP')
    if (meetsGuest(host, ground) || performance.now() > patience) return
    host.kill('SIGCONT')
    await sleep(30)
  }
}

/** True if a guest was alive. */
async function end(host: ChildProcess, ground: FaultGround): Promise<boolean> {
  const metGuest = meetsGuest(host, ground)
  if (host.exitCode !== null || host.signalCode !== null) throw new Error('the host ended before it was killed')
  const ended = once(host, 'exit')
  host.kill('SIGKILL')
  await ended
  return metGuest
}
