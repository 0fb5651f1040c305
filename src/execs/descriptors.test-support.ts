// A process that has no more than so many descriptors left, for as long as something is done.
import { spawnSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'

const limit = (...words: readonly string[]): string =>
  spawnSync('prlimit', ['--pid', String(process.pid), ...words], { encoding: 'utf8' }).stdout.trim()

export const canLimitDescriptors = spawnSync('prlimit', ['--version']).status === 0

export async function withDescriptors<Value>(spare: number, work: () => Promise<Value>): Promise<Value> {
  const before = limit('--nofile', '--noheadings', '--output', 'SOFT')
  // The kernel gives the lowest number that is free: behind these there are no gaps.
  const fillers = Array.from({ length: 200 }, () => openSync('/dev/null', 'r'))
  limit(`--nofile=${Math.max(...fillers) + 1 + spare}:`)
  try {
    return await work()
  } finally {
    for (const filler of fillers) closeSync(filler)
    limit(`--nofile=${before}:`)
  }
}
