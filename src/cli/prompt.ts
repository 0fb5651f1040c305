// Where the prompt of a run comes from: a flag, a file, or standard input.
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { GloveboxError } from '../errors/error.ts'
import type { RunFlags } from './run-program.ts'
import { pipedInput } from './stdin.ts'

const maxBytes = 1024 * 1024

export interface Prompt {
  readonly prompt: string
  /** Standard input has been read to its end. */
  readonly usesStdin: boolean
}

export interface PromptPlace {
  readonly directory: string
  /** Ends the waiting for a pipe. */
  readonly signal?: AbortSignal
}

type PromptFlags = Pick<RunFlags, 'prompt' | 'promptFile'>

export async function readPrompt(flags: PromptFlags, { directory, signal }: PromptPlace): Promise<Prompt> {
  const { prompt, promptFile } = flags
  if (prompt !== undefined) return { prompt, usesStdin: false }
  if (promptFile !== undefined && promptFile !== '-')
    return { prompt: decode(readFile(resolve(directory, promptFile))), usesStdin: false }
  const piped = pipedInput()
  if (piped !== undefined) return { prompt: decode(await readAll(piped, signal)), usesStdin: true }
  throw new GloveboxError('INVALID_INPUT', 'Cannot start the run: there is no prompt.', {
    hint: 'Give it with --prompt "…", with --prompt-file FILE, or by a pipe.',
  })
}

function readFile(path: string): Uint8Array {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new GloveboxError('NOT_FOUND', 'Cannot start the run: the file of the prompt cannot be read.', {
      hint: 'Check the name after --prompt-file.',
      operatorDetail: error instanceof Error ? error.message : String(error),
    })
  }
}

async function readAll(source: AsyncIterable<Uint8Array>, signal: AbortSignal | undefined): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let total = 0
  const iterator = source[Symbol.asyncIterator]()
  const stopped = new Promise<never>((_, reject) => {
    const stop = (): void => reject(new GloveboxError('CANCELLED', 'Cannot start the run: it was cancelled'))
    signal?.addEventListener('abort', stop, { once: true })
  })
  for (;;) {
    const next = await Promise.race([iterator.next(), stopped])
    if (next.done === true) return Buffer.concat(chunks)
    total += next.value.length
    if (total > maxBytes) throw tooLong()
    chunks.push(next.value)
  }
}

function decode(bytes: Uint8Array): string {
  if (bytes.length > maxBytes) throw tooLong()
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new GloveboxError('NOT_TEXT', 'Cannot start the run: the prompt is not UTF-8 text.')
  }
}

const tooLong = (): GloveboxError =>
  new GloveboxError('TOO_LARGE', `Cannot start the run: the prompt is longer than ${maxBytes} bytes.`, {
    hint: 'Name the material with --input or mount it, and keep the prompt to what is to be done.',
  })
