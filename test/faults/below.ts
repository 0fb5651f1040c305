// The processes that another one has started, and those below them, as the kernel tells it.
import { readdirSync, readFileSync } from 'node:fs'

export interface Child {
  readonly pid: number
  readonly name: string
}

/** What ends meanwhile is left out. */
export function below(pid: number): readonly Child[] {
  const children = tasksOf(pid).flatMap((task) => read(`/proc/${pid}/task/${task}/children`).split(' '))
  return children.flatMap((child) => {
    const name = child === '' ? '' : read(`/proc/${child}/comm`)
    return name === '' ? [] : [{ pid: Number(child), name }, ...below(Number(child))]
  })
}

function tasksOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return ''
  }
}
