// Puts a waiting boundary into its resource group. The first process may have started the gate by the time it is moved, and a
// move takes the process alone; so what it has started is moved after it. The gate starts nothing before it has the word,
// and what the first process starts once it has been moved is born in the group.
import { readdirSync, readFileSync } from 'node:fs'
import type { LimitGroup } from './limits/limits.ts'

export async function admit(group: LimitGroup, firstPid: number): Promise<void> {
  await group.add(firstPid)
  await Promise.all(childrenOf(firstPid).map((pid) => group.add(pid)))
}

export function childrenOf(pid: number): readonly number[] {
  try {
    return numbers(readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1'))
  } catch {
    // A kernel may be built without that file; the parents' numbers tell the same, at more cost.
    return readdirSync('/proc')
      .map(Number)
      .filter((each) => Number.isInteger(each) && parentOf(each) === pid)
  }
}

export function parentOf(pid: number): number | undefined {
  try {
    const parent = /^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]
    return parent === undefined ? undefined : Number(parent)
  } catch {
    return undefined
  }
}

const numbers = (text: string): readonly number[] =>
  text
    .split(' ')
    .map((word) => word.trim())
    .filter((word) => word !== '')
    .map(Number)
