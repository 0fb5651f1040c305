// Processes that append, replace and count in the same files at the same time, some of them killed with -9 on the way, and locks
// of processes whose pid has been given to somebody else. Afterwards every change that was answered is there, once.
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { formatHolder, thisHolder } from '../../src/paths/holder.ts'
import { lockKey } from '../../src/paths/lock.ts'
import { faultGround, type FaultGround, type Starter } from './ground.ts'

export interface WriteLockOptions {
  readonly starter: Starter
  /** Lines that each of the two writers adds and changes. */
  readonly times: number
  readonly kills: number
  /** Locks that are planted with the pid of a living process and a start time that is not its own. */
  readonly reused: number
}

export interface WriteLockReport {
  readonly lines: number
  readonly replaced: number
  readonly counted: number
  readonly kills: number
  readonly killedInside: number
  readonly takenOver: number
  readonly seconds: number
  readonly faults: readonly string[]
}

export async function writeTogether(options: WriteLockOptions): Promise<WriteLockReport> {
  const ground = faultGround(options.starter)
  const startedAt = performance.now()
  try {
    const workspace = ground.makeDirectory('workspace')
    const place = (name: string): string => join(workspace, name)
    const { uid, gid } = statSync(workspace)
    for (const name of ['lines', 'count']) {
      writeFileSync(place(name), name === 'count' ? '0' : '')
      chownSync(place(name), uid, gid)
    }
    const writers = ['a', 'b'].map((name) => startWriter(ground, workspace, name, options.times))
    const victims = await killSome(ground, workspace, options.kills)
    const taker = await startEndless(ground, workspace, 'taker')
    const takenOver = await plantReused(ground, workspace, options.reused)
    taker.child.kill('SIGKILL')
    await Promise.all([...writers, taker].map(({ ended }) => ended))
    const all = [...writers, ...victims, taker]
    const faults = [
      ...writers.flatMap((writer) => writer.complaints()),
      ...checkLines(readFileSync(place('lines'), 'utf8'), all),
      ...checkCount(Number(readFileSync(place('count'), 'utf8')), all),
      ...(takenOver === options.reused ? [] : [`${options.reused - takenOver} planted locks were not taken over`]),
    ]
    const told = (letter: string): number => all.reduce((sum, writer) => sum + writer.told(letter), 0)
    return {
      lines: told('a'),
      replaced: told('r'),
      counted: told('c'),
      kills: victims.length,
      killedInside: victims.filter(({ leftLock }) => leftLock).length,
      takenOver,
      seconds: Math.round((performance.now() - startedAt) / 100) / 10,
      faults,
    }
  } finally {
    ground.remove()
  }
}

interface Writer {
  readonly name: string
  readonly child: ChildProcess
  readonly ended: Promise<unknown>
  told(letter: string): number
  complaints(): readonly string[]
}

interface Victim extends Writer {
  /** It was killed while it held a lock. */
  readonly leftLock: boolean
}

function startWriter(ground: FaultGround, workspace: string, name: string, times: number): Writer {
  const child = ground.startHost('file-writer.mjs', [workspace, name, String(times)])
  const counts = new Map<string, number>()
  let said = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    for (const letter of text) counts.set(letter, (counts.get(letter) ?? 0) + 1)
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text))
  return {
    name,
    child,
    ended: once(child, 'close'),
    told: (letter) => counts.get(letter) ?? 0,
    complaints: () => (child.exitCode === 0 ? [] : [`${name} ended with ${child.exitCode}: ${said.slice(0, 500)}`]),
  }
}

/** It has written something and goes on until it is killed: what has only so much to write may be done before its time comes. */
async function startEndless(ground: FaultGround, workspace: string, name: string): Promise<Writer> {
  const writer = startWriter(ground, workspace, name, 100_000)
  await Promise.race([once(writer.child.stdout as NodeJS.ReadableStream, 'data'), writer.ended])
  if (writer.child.exitCode !== null) throw new Error(`a writer did not live: ${writer.complaints().join()}`)
  return writer
}

async function killSome(ground: FaultGround, workspace: string, kills: number): Promise<readonly Victim[]> {
  const victims: Victim[] = []
  for (let kill = 0; kill < kills; kill += 1) {
    const victim = await startEndless(ground, workspace, `v${kill}`)
    // Every other one at the very moment at which it holds a lock.
    if (kill % 2 === 0) await until(() => holdsLock(ground, victim.child.pid))
    else await sleep(Math.random() * 40)
    victim.child.kill('SIGKILL')
    await victim.ended
    victims.push({ ...victim, leftLock: holdsLock(ground, victim.child.pid) })
  }
  return victims
}

const lockDir = (ground: FaultGround): string => join(ground.stateDir, 'locks')

function holdsLock(ground: FaultGround, pid: number | undefined): boolean {
  const locks = readdirSync(lockDir(ground)).filter((name) => name.endsWith('.lock'))
  return locks.some((name) => readIfThere(join(lockDir(ground), name)).split('\n')[1] === String(pid))
}

/** The pid is this process's own, which lives; the start time is somebody's who had the pid before. */
async function plantReused(ground: FaultGround, workspace: string, times: number): Promise<number> {
  const lock = join(lockDir(ground), `${lockKey(statSync(workspace, { bigint: true }), 'lines')}.lock`)
  let takenOver = 0
  for (let plant = 0; plant < times; plant += 1) {
    const stale = { ...thisHolder(), startTime: '1' }
    await until(() => wrote(lock, formatHolder(stale)))
    const nonce = (): string | undefined => readIfThere(lock).split('\n')[0]
    takenOver += (await until(() => nonce() !== stale.nonce)) ? 1 : 0
  }
  return takenOver
}

async function until(isSo: () => boolean): Promise<boolean> {
  const end = performance.now() + 60_000
  while (!isSo()) {
    if (performance.now() > end) return false
    await sleep(0)
  }
  return true
}

function wrote(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { flag: 'wx', mode: 0o644 })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

/** One answered line at most may be missing from what a killed writer told: it was done, and could not be told any more. */
function checkLines(text: string, writers: readonly Writer[]): readonly string[] {
  const lines = text.split('\n').slice(0, -1)
  const faults = text.endsWith('\n') ? [] : ['the file ends in half a line']
  for (const writer of writers) {
    const mine = lines.filter((line) => line.startsWith(`${writer.name} `))
    const numbers = mine.map((line) => Number(line.split(' ')[1]))
    const done = mine.filter((line) => line.endsWith(' done')).length
    const extra = writer.child.exitCode === 0 ? 0 : 1
    if (numbers.some((number, index) => number !== index)) faults.push(`${writer.name}: a line is missing or doubled`)
    for (const [what, found, told] of [
      ['lines', mine.length, writer.told('a')],
      ['replacements', done, writer.told('r')],
    ] as const)
      if (found < told || found > told + extra) faults.push(`${writer.name}: ${found} ${what}, ${told} were answered`)
  }
  const known = new Set(writers.map(({ name }) => name))
  const foreign = lines.find((line) => !/^\w+ \d{5} (new|done)$/.test(line) || !known.has(line.split(' ')[0] ?? ''))
  return foreign === undefined ? faults : [...faults, `a line that nobody wrote: ${JSON.stringify(foreign)}`]
}

function checkCount(count: number, writers: readonly Writer[]): readonly string[] {
  const told = writers.reduce((sum, writer) => sum + writer.told('c'), 0)
  const untold = writers.filter(({ child }) => child.exitCode !== 0).length
  return count >= told && count <= told + untold ? [] : [`the count is ${count}, and ${told} were answered`]
}
