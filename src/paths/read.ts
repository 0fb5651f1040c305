// Reading a bounded part of a regular file.
import { closeSync } from 'node:fs'
import type { ReadOptions, ReadResult } from '../contract/files.ts'
import { readUpTo } from './content.ts'
import type { Reach } from './contain.ts'
import { statsOf, type Opened } from './descriptor.ts'
import { refusal, type Question } from './refusal.ts'
import { openForRead } from './regular.ts'
import { versionBetween } from './version.ts'

export async function readFile(reach: Reach, asked: Question, options: ReadOptions): Promise<ReadResult> {
  const offset = options.offset ?? 0
  requireCount(options.maxBytes, 'maxBytes', asked)
  requireCount(offset, 'offset', asked)
  const file = openForRead(reach, asked)
  try {
    return await readBounded(file, { ...options, offset }, asked)
  } finally {
    closeSync(file.fd)
  }
}

export async function readBounded(
  file: Opened,
  options: ReadOptions & { readonly offset: number },
  asked: Question,
): Promise<ReadResult> {
  const { offset, maxBytes } = options
  const size = Number(file.stats.size)
  if (!options.partial && size - offset > maxBytes) throw tooLarge(asked, size, maxBytes)
  // One byte over the bound tells a file that grew from one that just fits.
  const limit = options.partial ? maxBytes : maxBytes + 1
  const bytes = await readUpTo(file.fd, { offset, limit, expected: size })
  const sizeBytes = Math.max(size, offset + bytes.length)
  if (bytes.length > maxBytes) throw tooLarge(asked, sizeBytes, maxBytes)
  return { bytes, sizeBytes, version: versionBetween(file.stats, statsOf(file.fd)) }
}

export function requireCount(value: number, name: string, asked: Question): void {
  if (!Number.isSafeInteger(value) || value < 0) {
    throw refusal('INVALID_INPUT', asked, `${name} must be a whole number, zero or more`)
  }
}

const tooLarge = (asked: Question, sizeBytes: number, maxBytes: number): Error =>
  refusal('TOO_LARGE', asked, `the file has ${sizeBytes} bytes, the limit is ${maxBytes}`, {
    hint: 'Ask for a part of it.',
    facts: { sizeBytes, maxBytes },
  })
