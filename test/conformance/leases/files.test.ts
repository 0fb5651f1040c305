// Leases as files, and what is true of one host alone: the death of an owner is seen at once, whatever its lease says.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir, uptime } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import type { Leases } from '../../../src/contract/lease.ts'
import type { HostPath } from '../../../src/contract/mount.ts'
import { openFileLeases } from '../../../src/pool/file-leases/open.ts'
import { describeLeases } from './suite.ts'

const root = mkdtempSync(join(tmpdir(), 'glovebox-leases-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))
let places = 0
const newDirectory = (): HostPath => join(root, String(++places), 'leases') as HostPath
const nowMs = (): number => uptime() * 1000
const open = (directory: HostPath, ttlMs = 60_000): Leases => openFileLeases({ directory, nowMs, ttlMs })

describeLeases({
  name: 'files',
  newPlace: async () => {
    const directory = newDirectory()
    return { open: ({ ttlMs }) => open(directory, ttlMs), close: async () => {} }
  },
})

const holderProgram = join(import.meta.dirname, 'holder.mjs')

/** Another process that takes the lease and then does nothing. */
async function otherProcess(directory: string): Promise<{ readonly token: number; kill(): Promise<void> }> {
  const child = spawn(process.execPath, [holderProgram, directory], { stdio: ['ignore', 'pipe', 'inherit'] })
  const token = await new Promise<number>((resolve, reject) => {
    child.stdout.once('data', (text: Buffer) => resolve(Number(text.toString())))
    child.once('exit', () => reject(new Error('it ended before it had the lease')))
  })
  return {
    token,
    kill: () =>
      new Promise((resolve) => {
        child.once('exit', () => resolve())
        child.kill('SIGKILL')
      }),
  }
}

describe('leases in files', () => {
  const one = 'sbx_a000000000000000'

  it('the lease of a process that was killed is over at once', async () => {
    const directory = newDirectory()
    const leases = open(directory)
    const other = await otherProcess(directory)
    expect(await leases.take(one)).toEqual({ granted: false, state: 'active' })
    await other.kill()
    const answer = await leases.take(one)
    expect(answer).toMatchObject({ granted: true, former: { was: 'dead', token: other.token } })
    await leases.close()
  })

  it('tokens go on rising after a restart of the machine, and where the directory was lost', async () => {
    const directory = newDirectory()
    const before = open(directory)
    const first = await before.take(one)
    await before.close()
    const boot = readFileSync(join(directory, 'boot'), 'utf8').split('\n')
    writeFileSync(join(directory, 'boot'), `another boot\n${boot[1]}\n`)
    const after = open(directory)
    const second = await after.take('sbx_b000000000000000')
    await after.close()
    rmSync(directory, { recursive: true })
    const later = await open(directory).take(one)
    const tokens = [first, second, later].map((answer) => (answer.granted ? answer.token : 0))
    expect(tokens[1]).toBeGreaterThan(tokens[0] ?? Infinity)
    expect(tokens[2], 'in a new directory they begin where the clock is, far from 1').toBeGreaterThan(2 ** 34)
    expect(tokens.every(Number.isSafeInteger)).toBe(true)
  })

  it('what a power cut tore is no lease', async () => {
    const directory = newDirectory()
    const leases = open(directory)
    await leases.take(one)
    writeFileSync(join(directory, `${one}.lease`), '\0'.repeat(64))
    writeFileSync(join(directory, 'count'), '')
    expect(await leases.list()).toEqual([])
    expect(await open(directory).take(one)).toMatchObject({ granted: true, former: { was: 'none' } })
    await leases.close()
  })

  it('nobody but the operator can read them, and none stays behind', async () => {
    const directory = newDirectory()
    const leases = open(directory)
    const answer = await leases.take(one)
    expect(statSync(directory).mode & 0o077).toBe(0)
    expect(statSync(join(directory, `${one}.lease`)).mode & 0o077).toBe(0)
    if (answer.granted) await leases.drop({ id: one, token: answer.token })
    await leases.close()
    // The last is no lease: it becomes the next one.
    expect(readdirSync(directory).toSorted()).toEqual(['boot', 'count', 'next.tmp'])
    const later = open(directory)
    expect(await later.list()).toEqual([])
    expect(await later.take('sbx_b000000000000000')).toMatchObject({ granted: true, former: { was: 'none' } })
    expect(readdirSync(directory)).not.toContain('next.tmp')
    await later.close()
  })

  it('a directory that cannot be used is told for what it is, and grants nothing', async () => {
    const directory = newDirectory()
    const leases = open(directory)
    rmSync(directory, { recursive: true })
    writeFileSync(directory, 'a file in its place')
    await expect(leases.take(one)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  })
})
