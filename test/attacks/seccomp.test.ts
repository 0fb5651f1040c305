// The compiled filter in a real bwrap against a hostile C program and a hostile Python program. The positive control is
// the same program in the same bwrap without the filter; it has no capabilities either way.
import { execFileSync } from 'node:child_process'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeWhere } from './describe-where.ts'
import {
  attacks,
  attacksEverywhere,
  attacksOnX64,
  attemptsOf,
  harmless,
  type Attack,
  type Attempt,
} from './seccomp-attempts.ts'
import { openFilteredBwrap, type FilteredBwrap } from './seccomp-bwrap.ts'

let bwrap: FilteredBwrap
let filtered: ReadonlyMap<string, string>
let control: ReadonlyMap<string, string>

function runProbe(options: { readonly filter: boolean }): ReadonlyMap<string, string> {
  const { status, stdout, stderr } = bwrap.run(['/probes/syscalls'], options)
  if (status !== 0) throw new Error(`the probe ended with ${status}: ${stderr}`)
  return new Map([...stdout.matchAll(/^(\S+) (\S+)$/gm)].map(([, name = '', answer = '']) => [name, answer]))
}

function controlShows([name, answer, shown]: Attempt): boolean {
  const said = control.get(name)
  if (said === undefined || said === 'UNPREPARED') return false
  if (shown === 'succeeds') return said === 'OK'
  return shown !== 'differs' || said !== answer
}

beforeAll(() => {
  bwrap = openFilteredBwrap()
  const source = join(import.meta.dirname, 'probes')
  execFileSync('gcc', ['-O1', '-Wall', '-Werror', '-o', join(bwrap.probeDir, 'syscalls'), join(source, 'syscalls.c')])
  copyFileSync(join(source, 'syscalls.py'), join(bwrap.probeDir, 'syscalls.py'))
  filtered = runProbe({ filter: true })
  control = runProbe({ filter: false })
})

afterAll(() => bwrap[Symbol.dispose]())

const hasX64 = describeWhere(process.arch === 'x64', 'only x64 has these calls')

describe('the seccomp filter', () => {
  const refuses = (_title: string, attack: Attack): void => {
    const attempts = attemptsOf(attack)
    expect(attempts.map(([name]) => [name, filtered.get(name)])).toEqual(
      attempts.map(([name, answer]) => [name, answer]),
    )
    const unproven = attempts.filter((attempt) => !controlShows(attempt))
    expect(unproven.map(([name, , shown]) => ({ name, shown, control: control.get(name) }))).toEqual([])
  }

  it.each(attacksEverywhere)('%s', refuses)
  hasX64('of x64', () => {
    it.each(attacksOnX64)('%s', refuses)
  })

  it('control: the nearest harmless neighbours are let through', () => {
    expect(harmless.map((name) => [name, filtered.get(name)])).toEqual(harmless.map((name) => [name, 'OK']))
  })

  it('control: the filter is tried with every attempt that the probe makes', () => {
    const expected = [...attacks.flatMap(attemptsOf).map(([name]) => name), ...harmless]
    expect([...filtered.keys()].toSorted()).toEqual(expected.toSorted())
  })

  // The guest can write /proc/1/mem, so that a first process without the filter would be a way around it.
  it('the filter holds the first process of the namespace too', () => {
    const ask = ['/bin/sh', '-c', 'grep -h ^Seccomp: /proc/1/status /proc/self/status']
    expect(bwrap.run(ask, { filter: true }).stdout).toBe('Seccomp:\t2\nSeccomp:\t2\n')
    expect(bwrap.run(ask, { filter: false }).stdout).toBe('Seccomp:\t0\nSeccomp:\t0\n')
  })

  it('the filter holds against a guest that writes Python', () => {
    const runPython = (options: { readonly filter: boolean }): unknown =>
      JSON.parse(bwrap.run(['python3', '/probes/syscalls.py'], options).stdout)
    expect(runPython({ filter: true })).toEqual({
      chmod: 'EPERM',
      tar: 'PLAIN',
      device: 'EPERM',
      terminal: 'EPERM',
      packet: 'EAFNOSUPPORT',
      netfilter: 'EPROTONOSUPPORT',
    })
    expect(runPython({ filter: false })).toMatchObject({
      chmod: 'OK',
      tar: 'SET-ID',
      device: 'OK',
      terminal: expect.not.stringMatching('EPERM'),
      packet: 'EPERM',
    })
  })
})
