import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isAlive, ownIdentity, parseStat, type IdentityHost } from './identity.ts'

const statLine = (pid: number, state: string, startTime: string): string =>
  `${pid} (a) b (c)) ${state} 1 ${pid} ${pid} 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 11 0 ${startTime} 1000 1\n`

let proc: string
let host: IdentityHost
const setProcess = (pid: number, state: string, startTime: string): void => {
  mkdirSync(join(proc, String(pid)), { recursive: true })
  writeFileSync(join(proc, String(pid), 'stat'), statLine(pid, state, startTime))
}

beforeEach(() => {
  proc = mkdtempSync(join(tmpdir(), 'glovebox-proc-'))
  mkdirSync(join(proc, 'self/ns'), { recursive: true })
  mkdirSync(join(proc, 'sys/kernel/random'), { recursive: true })
  writeFileSync(join(proc, 'self/stat'), statLine(500, 'R', '9000'))
  writeFileSync(join(proc, 'sys/kernel/random/boot_id'), 'boot-one\n')
  symlinkSync('pid:[1]', join(proc, 'self/ns/pid'))
  host = { proc, exists: () => false }
})
afterEach(() => rmSync(proc, { recursive: true }))

describe('parseStat', () => {
  it('reads past a program name with blanks and parentheses', () => {
    expect(parseStat(statLine(7, 'S', '123'))).toEqual({ pid: 7, state: 'S', startTime: '123' })
  })

  it.each(['', '7', '7 (name) S 1 2'])('refuses %j', (text) => {
    expect(() => parseStat(text)).toThrow(TypeError)
  })
})

describe('process identity', () => {
  it('is pid, start time, boot and pid namespace', () => {
    expect(ownIdentity(host)).toEqual({ pid: 500, startTime: '9000', bootId: 'boot-one', pidNamespace: 'pid:[1]' })
  })

  it('is alive while the same process runs', () => {
    setProcess(500, 'S', '9000')
    expect(isAlive(ownIdentity(host), host)).toBe(true)
  })

  it('is dead when there is no such process', () => {
    expect(isAlive(ownIdentity(host), host)).toBe(false)
  })

  it('is dead when another process has its pid', () => {
    setProcess(500, 'S', '9001')
    expect(isAlive(ownIdentity(host), host)).toBe(false)
  })

  it('is dead when it is a zombie', () => {
    setProcess(500, 'Z', '9000')
    expect(isAlive(ownIdentity(host), host)).toBe(false)
  })

  it('is dead after a boot, whoever has its pid', () => {
    setProcess(500, 'S', '9000')
    expect(isAlive({ ...ownIdentity(host), bootId: 'boot-zero' }, host)).toBe(false)
  })

  it('counts as alive where it cannot be seen', () => {
    expect(isAlive({ ...ownIdentity(host), pidNamespace: 'pid:[2]' }, host)).toBe(true)
    expect(isAlive(ownIdentity(host), { ...host, exists: () => true })).toBe(true)
  })
})
