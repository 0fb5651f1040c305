// Which of our descriptors would a child inherit? Node marks its own close-on-exec; those that our parent
// left open, or that a native library opened carelessly, are not marked.
import { closeSync, openSync, readdirSync, readSync } from 'node:fs'

const closeOnExec = 0o2000000

/** Answers the descriptors of 3 and up that a child would inherit, ascending; empty where there is no /proc.
 * Asking the kernel costs 10 µs a descriptor, so one that was found safe is not asked again while it stays open. */
export function createDescriptorWatch(): () => readonly number[] {
  let safe = new Set<string>()
  let exposed = new Set<string>()
  return () => {
    const open = openDescriptors()
    const nowSafe = new Set<string>()
    const nowExposed = new Set<string>()
    for (const descriptor of open) {
      if (exposed.has(descriptor) || (!safe.has(descriptor) && isInheritable(descriptor))) nowExposed.add(descriptor)
      else nowSafe.add(descriptor)
    }
    safe = nowSafe
    exposed = nowExposed
    return [...exposed].map(Number).sort((a, b) => a - b)
  }
}

function openDescriptors(): readonly string[] {
  try {
    return readdirSync('/proc/self/fd').filter((name) => Number(name) > 2)
  } catch {
    return []
  }
}

function isInheritable(descriptor: string): boolean {
  let info: number
  try {
    info = openSync(`/proc/self/fdinfo/${descriptor}`, 'r')
  } catch {
    // Closed since the listing: it was the listing's own descriptor.
    return false
  }
  try {
    const text = Buffer.alloc(256)
    const length = readSync(info, text, 0, text.length, 0)
    const flags = /^flags:\s*([0-7]+)/m.exec(text.toString('latin1', 0, length))
    return flags?.[1] !== undefined && (Number.parseInt(flags[1], 8) & closeOnExec) === 0
  } finally {
    closeSync(info)
  }
}
