// A file cut short, on disk when this returns: some filesystems have the room of what was cut only then.
import { closeSync, fsyncSync, ftruncateSync, openSync } from 'node:fs'

export function cutAt(path: string, size: number): void {
  const descriptor = openSync(path, 'r+')
  try {
    ftruncateSync(descriptor, size)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
