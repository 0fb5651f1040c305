// What the host sees of a guest: its processes by a word of their command line, and whether something comes to pass.
import { readFileSync, readdirSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

export interface SeenProcess {
  readonly pid: number
  readonly parent: number
  readonly state: string
  /** Real, effective, saved and file system id, as the kernel counts them. */
  readonly uids: readonly number[]
  readonly gids: readonly number[]
  readonly groups: readonly number[]
}

/** Processes with the marker in their command line, but for those that no more than hold a question about it. */
export function processesWith(marker: string): readonly SeenProcess[] {
  return allProcesses().filter(({ pid }) => textOf(pid, 'cmdline').includes(marker))
}

/** The process, its parent and so on, up to and without the one at which to stop. */
export function lineageOf(pid: number, stop: number): readonly SeenProcess[] {
  const seen = pid === stop ? undefined : seenProcess(pid)
  return seen === undefined ? [] : [seen, ...lineageOf(seen.parent, stop)]
}

export function childrenOf(parent: number): readonly SeenProcess[] {
  return allProcesses().filter((seen) => seen.parent === parent)
}

function allProcesses(): readonly SeenProcess[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => seenProcess(Number(name)))
    .filter((seen) => seen !== undefined)
}

export function seenProcess(pid: number): SeenProcess | undefined {
  const status = textOf(pid, 'status')
  if (status === '') return undefined
  const field = (name: string): string => new RegExp(`^${name}:[ \\t]*(.*)$`, 'm').exec(status)?.[1] ?? ''
  const numbers = (name: string): readonly number[] => field(name).split(/\s+/).filter(Boolean).map(Number)
  return {
    pid,
    parent: Number(field('PPid')),
    state: field('State').slice(0, 1),
    uids: numbers('Uid'),
    gids: numbers('Gid'),
    groups: numbers('Groups'),
  }
}

function textOf(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1')
  } catch {
    return ''
  }
}

/** True as soon as it holds; false if it does not within the time. */
export async function comesToPass(condition: () => boolean, withinMs: number): Promise<boolean> {
  const end = performance.now() + withinMs
  while (!condition()) {
    if (performance.now() > end) return false
    await delay(20)
  }
  return true
}
