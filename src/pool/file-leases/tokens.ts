// Numbers that only rise, for all processes of a host and through every restart of it. The count itself is not synced: it outlives every
// process, and what it counted ends with the machine. Each boot begins a block of its own, and that beginning is synced before the
// first number of it is given out. All of this is done under the lock of the directory.
import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readIfThere } from '../../paths/if-there.ts'
import { rewriteUnsynced, type Rewriting } from './files.ts'

/** Numbers to a boot; whole numbers hold half a million such blocks. */
const perBoot = 2 ** 34
const hourMs = 3_600_000
const firstHour = Date.UTC(2026, 0, 1)

export interface Tokens {
  next(): number
}

interface Block {
  readonly bootId: string
  readonly number: number
}

export function openTokens(directory: string, bootId: string): Tokens {
  let block: Block | undefined
  const countFile = join(directory, 'count')

  return {
    next() {
      block ??= blockOf(directory, bootId)
      const { number } = block
      const count = ({ text = '', write }: Rewriting): number => {
        const [of, last] = text.split('\n')
        const before = of === String(number) && last !== undefined ? Number(last) : 0
        if (!Number.isSafeInteger(before) || before + 1 >= perBoot)
          throw new Error('the count of leases cannot be read')
        write(`${number}\n${before + 1}\n`)
        return number * perBoot + before + 1
      }
      return rewriteUnsynced(countFile, count, true)
    },
  }
}

function blockOf(directory: string, bootId: string): Block {
  const file = join(directory, 'boot')
  const [of, text] = (readIfThere(file) ?? '').split('\n')
  const known = Number(text)
  const number = Number.isSafeInteger(known) && known > 0 ? known : 0
  if (of === bootId && number > 0) return { bootId, number }
  // The hour keeps numbers rising where somebody took the directory away and left the members, which remember theirs.
  const next = Math.max(number + 1, Math.ceil((Date.now() - firstHour) / hourMs))
  replaceSynced(directory, file, `${bootId}\n${next}\n`)
  return { bootId, number: next }
}

function replaceSynced(directory: string, file: string, text: string): void {
  const temporary = `${file}.tmp`
  writeFileSync(temporary, text, { mode: 0o600, flush: true })
  renameSync(temporary, file)
  const fd = openSync(directory, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
