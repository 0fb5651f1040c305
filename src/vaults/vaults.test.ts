import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { SecretUse, VaultSource } from '../contract/vault.ts'
import { openSpawner, type Spawner } from '../process/spawn.ts'
import { openRedaction } from './redaction/redaction.ts'
import { describeVaults, handOver, openVault, type HandoverParts, type Vault } from './vaults.ts'

let directory: string
let spawner: Spawner
const opened: Vault[] = []
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'glovebox-vaults-'))
  spawner = openSpawner()
})
afterEach(() => {
  for (const { source } of opened.splice(0)) source.close?.()
  spawner.close()
  rmSync(directory, { recursive: true, force: true })
})

const operatorEnv = { CI_TOKEN: 'from-the-environment', EMPTY: '', PATH: '/usr/bin:/bin' }
const open = (name: string, source: VaultSource): Vault => {
  const vault = openVault(name, source, { operatorEnv, spawner: () => spawner })
  opened.push(vault)
  return vault
}
const put = (name: string, text: string | Uint8Array): void => writeFileSync(join(directory, name), text)
const parts = (vaults: readonly Vault[], more: Partial<HandoverParts> = {}): HandoverParts => ({
  vaults,
  redaction: openRedaction(),
  requireGranted: () => {},
  taken: {},
  ...more,
})
const hand = (vault: Vault, ...uses: readonly SecretUse[]) => handOver(uses, parts([vault]))
const refusal = (code: string): unknown => expect.objectContaining({ code })

describe('a vault', () => {
  it('hands over files of a directory, as variables without the last line breaks and as files byte for byte', async () => {
    put('token', 'sesame-opens\n')
    const vault = open('keys', { directory })
    const given = await hand(
      vault,
      'keys/token',
      { name: 'keys/token', env: 'OTHER' },
      { name: 'keys/token', file: 't' },
    )
    expect({ ...given.env }).toEqual({ token: 'sesame-opens', OTHER: 'sesame-opens' })
    expect(given.files).toEqual([{ name: 't', bytes: new Uint8Array(Buffer.from('sesame-opens\n')) }])
  })

  it('reads a file anew for every command', async () => {
    put('token', 'the-first-value')
    const vault = open('keys', { directory })
    expect((await hand(vault, 'keys/token')).env['token']).toBe('the-first-value')
    put('token', 'the-second-value')
    expect((await hand(vault, 'keys/token')).env['token']).toBe('the-second-value')
  })

  it('hands over variables of the operator, and none that is missing or empty', async () => {
    const vault = open('ci', { environment: ['CI_TOKEN', 'EMPTY', 'MISSING'] })
    expect((await hand(vault, 'ci/CI_TOKEN')).env['CI_TOKEN']).toBe('from-the-environment')
    await expect(hand(vault, 'ci/EMPTY')).rejects.toEqual(refusal('SECRET_UNAVAILABLE'))
    await expect(hand(vault, 'ci/MISSING')).rejects.toEqual(refusal('SECRET_UNAVAILABLE'))
    await expect(hand(vault, 'ci/PATH')).rejects.toEqual(refusal('NOT_FOUND'))
  })

  it('hands over what a program prints, and tells the operator alone what a failing one said', async () => {
    const vault = open('ops', {
      command: {
        good: ['/bin/sh', '-c', 'echo printed-by-a-program'],
        bad: ['/bin/sh', '-c', 'echo said-by-a-program >&2; exit 3'],
        large: ['/bin/sh', '-c', 'head -c 70000 /dev/zero'],
        missing: ['/no/such/program'],
      },
    })
    expect((await hand(vault, 'ops/good')).env['good']).toBe('printed-by-a-program')
    const failed = await hand(vault, 'ops/bad').catch((error: unknown) => error)
    expect(failed).toMatchObject({ code: 'SECRET_UNAVAILABLE', operatorDetail: 'said-by-a-program' })
    expect(String(failed)).not.toContain('said-by')
    await expect(hand(vault, 'ops/large')).rejects.toEqual(refusal('SECRET_UNAVAILABLE'))
    await expect(hand(vault, 'ops/missing')).rejects.toEqual(refusal('SECRET_UNAVAILABLE'))
  })

  it('does not wait for a program when nobody waits for the command any more', async () => {
    const vault = open('ops', { command: { slow: ['/bin/sh', '-c', 'sleep 25; echo long-enough'] } })
    const stopping = new AbortController()
    setTimeout(() => stopping.abort(), 50)
    const begun = performance.now()
    const asked = handOver(['ops/slow'], parts([vault], { signal: stopping.signal }))
    await expect(asked).rejects.toEqual(refusal('CANCELLED'))
    expect(performance.now() - begun).toBeLessThan(20_000)
  })

  it('lists names only, and no link, directory or name that cannot be asked for', () => {
    for (const name of ['token', '.hidden', 'with space', 'z.pem']) put(name, 'x'.repeat(9))
    mkdirSync(join(directory, 'below'))
    symlinkSync('token', join(directory, 'link'))
    const vault = open('keys', { directory })
    expect(describeVaults([vault], ['keys/token', 'other/z.pem'])).toEqual([
      {
        name: 'keys',
        guestPath: '/vaults/keys',
        source: 'directory',
        secrets: [
          { name: 'token', granted: true },
          { name: 'z.pem', granted: false },
        ],
      },
    ])
  })

  it('asks policy first, for every name, and no source before it has answered', async () => {
    const vault = open('ops', { command: { a: ['/bin/sh', '-c', `touch ${directory}/ran; echo long-enough`] } })
    const asked: (readonly string[])[] = []
    const requireGranted = (names: readonly string[]): void => {
      asked.push(names)
      throw new Error('not granted')
    }
    await expect(handOver(['ops/a', 'ops/b'], parts([vault], { requireGranted }))).rejects.toThrow('not granted')
    expect(asked).toEqual([['ops/a', 'ops/b']])
    expect(() => writeFileSync(join(directory, 'ran'), '', { flag: 'wx' })).not.toThrow()
  })

  it('teaches the redaction before it hands over', async () => {
    put('token', 'sesame-opens')
    const redaction = openRedaction()
    await handOver(['keys/token'], parts([open('keys', { directory })], { redaction }))
    expect(redaction.text('say sesame-opens')).toBe('say [redacted:keys/token]')
  })

  it('hands over all or nothing', async () => {
    put('token', 'sesame-opens')
    put('pin', '1234')
    const vault = open('keys', { directory })
    await expect(hand(vault, 'keys/token', 'keys/pin')).rejects.toEqual(refusal('SECRET_UNAVAILABLE'))
    await expect(hand(vault, 'keys/token', 'keys/none')).rejects.toEqual(refusal('NOT_FOUND'))
  })

  it('refuses what would be set twice, what is no text as a variable, and names of another form', async () => {
    put('token', 'sesame-opens')
    put('binary', Uint8Array.from([0, 159, 146, 150, 1, 2, 3, 4, 5]))
    const vault = open('keys', { directory })
    await expect(hand(vault, 'keys/token', 'keys/token')).rejects.toEqual(refusal('INVALID_ENV'))
    const taken = handOver(['keys/token'], parts([vault], { taken: { token: '' } }))
    await expect(taken).rejects.toEqual(refusal('INVALID_ENV'))
    await expect(hand(vault, 'keys/binary')).rejects.toEqual(refusal('INVALID_ENV'))
    expect((await hand(vault, { name: 'keys/binary', file: 'b' })).files[0]?.bytes).toHaveLength(9)
    for (const use of [
      'token',
      'keys/../token',
      { name: 'keys/token', file: '../x' },
      { name: 'keys/token', env: 'A=B' },
    ])
      await expect(hand(vault, use)).rejects.toEqual(refusal('INVALID_INPUT'))
  })

  it('has one source and a plain name, and programs are named by their whole path', () => {
    for (const source of [{}, { directory, environment: ['A'] }])
      expect(() => open('keys', source as VaultSource)).toThrow(refusal('INVALID_INPUT'))
    expect(() => open('a/b', { environment: ['A'] })).toThrow(refusal('INVALID_INPUT'))
    expect(() => open('ops', { command: { a: ['pass'] } })).toThrow(refusal('INVALID_INPUT'))
    expect(() => open('keys', { environment: ['a/b'] })).toThrow(refusal('INVALID_INPUT'))
    expect(() => open('keys', { directory: join(directory, 'none') })).toThrow(refusal('SECRET_UNAVAILABLE'))
  })
})
