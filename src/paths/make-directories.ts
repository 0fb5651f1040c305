// A directory and what leads to it, where somebody else named the place. Node's own way asks again and again, without an end, where a
// directory is there and takes no new names, as /proc does.
import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { isErrno } from './refusal.ts'

/** Absolute, or below the current directory. Throws the kernel's own error. */
export function makeDirectories(path: string, mode = 0o777): void {
  const parent = dirname(path)
  try {
    makeOne(path, mode)
  } catch (error) {
    if (!isErrno(error, 'ENOENT') || parent === path) throw error
    makeDirectories(parent, mode)
    makeOne(path, mode)
  }
}

function makeOne(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode })
  } catch (error) {
    if (!isErrno(error, 'EEXIST') || !isDirectory(path)) throw error
  }
}

const isDirectory = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
