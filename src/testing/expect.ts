// What cases say again and again, each as one sentence that can fail.
import assert from 'node:assert/strict'
import { stat } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import type { Process, ProcessExit } from '../contract/backend.ts'
import type { ExecResult } from '../contract/exec.ts'
import { isGloveboxError, type GloveboxError } from '../errors/error.ts'
import type { ErrorCode } from '../errors/table.ts'

/** Part of the name of every host directory that the suite makes: where an agent can read it, a host path has leaked. */
export const hostMark = 'gbx-host-side'

export function hidesTheHost(value: unknown): void {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  assert.ok(!text.includes(hostMark), `a host path is shown to the agent: ${text.slice(0, 500)}`)
}

/** The work is refused with one of these codes, in words that are safe to show to an agent. */
export async function refused(codes: ErrorCode | readonly ErrorCode[], work: Promise<unknown>): Promise<GloveboxError> {
  const allowed: readonly ErrorCode[] = typeof codes === 'string' ? [codes] : codes
  const outcome = await work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  if (!('error' in outcome)) assert.fail(`expected a refusal with ${allowed.join(' or ')}; it was done instead`)
  const { error } = outcome
  if (!isGloveboxError(error)) assert.fail(`expected ${allowed.join(' or ')}; got a foreign error: ${String(error)}`)
  assert.ok(allowed.includes(error.code), `expected ${allowed.join(' or ')}; got ${error.code}: ${error.message}`)
  hidesTheHost([error.message, error.hint ?? '', error.facts])
  return error
}

export function succeeded(result: ExecResult): string {
  assert.deepEqual(result.ended, { by: 'exit', code: 0 }, `the command failed: ${result.stderr.slice(0, 500)}`)
  return result.stdout
}

export function failed(result: ExecResult): void {
  assert.equal(result.ended.by, 'exit', JSON.stringify(result.ended))
  assert.notEqual(result.exitCode, 0, `the command succeeded: ${result.stdout.slice(0, 500)}`)
}

export interface Collected {
  readonly exit: ProcessExit
  readonly stdout: Buffer
  readonly stderr: Buffer
}

export async function collect(child: Process): Promise<Collected> {
  const gather = async (stream: AsyncIterable<unknown>): Promise<Buffer> => {
    const chunks: Buffer[] = []
    for await (const chunk of stream) chunks.push(Buffer.from(chunk as Uint8Array))
    return Buffer.concat(chunks)
  }
  const [exit, stdout, stderr] = await Promise.all([child.exit, gather(child.stdout), gather(child.stderr)])
  return { exit, stdout, stderr }
}

/** A timeout that comes only after the command has begun and said what it says first, also on a machine that is busy elsewhere. */
export const afterItsBeginMs = 1200

/** A shell loop that writes into `file` for as long as it lives. */
export const heartbeat = (file: string): string => `while :; do echo x >> ${file}; sleep 0.03; done`

const sizeOf = async (file: string): Promise<number> => (await stat(file).catch(() => undefined))?.size ?? 0

export async function waitForBeat(hostFile: string): Promise<void> {
  await growsBeyond(hostFile, 0, 'the background process never began')
}

/** What writes the heartbeat is alive: another beat comes. */
export async function beatsOn(hostFile: string): Promise<void> {
  await growsBeyond(hostFile, await sizeOf(hostFile), 'nothing writes the heartbeat any more')
}

async function growsBeyond(hostFile: string, size: number, otherwise: string): Promise<void> {
  const deadline = performance.now() + 20_000
  while ((await sizeOf(hostFile)) <= size) {
    assert.ok(performance.now() < deadline, otherwise)
    await pause(10)
  }
}

/** Nothing writes the heartbeat any more: longer than several beats pass without a byte. */
export async function isStill(hostFile: string): Promise<void> {
  const before = await sizeOf(hostFile)
  assert.ok(before > 0, 'the heartbeat never began, so its end proves nothing')
  await pause(200)
  assert.equal(await sizeOf(hostFile), before, 'something that the command started is still alive')
}

export const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
