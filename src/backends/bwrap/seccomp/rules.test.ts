import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { callNumbers } from './numbers.ts'
import { rules } from './rules.ts'

const attackTests = readFileSync(new URL('../../../../test/attacks/seccomp-attempts.ts', import.meta.url), 'utf8')

describe('the table of rules', () => {
  it.each(rules.map((rule) => [rule.calls.join(' '), rule] as const))(
    '%s: names an attack test that exists',
    (_, rule) => {
      expect(attackTests).toContain(`'${rule.test}'`)
    },
  )

  it('uses every call that has a number', () => {
    const used = new Set(rules.flatMap((rule) => rule.calls))
    expect([...used].toSorted()).toEqual(Object.keys(callNumbers).toSorted())
  })

  it('never hides a rule behind one that always answers', () => {
    for (const rule of rules.filter(({ when }) => when === undefined)) {
      for (const call of rule.calls) expect(rules.filter(({ calls }) => calls.includes(call))).toEqual([rule])
    }
  })

  it('has words for every condition, and conditions that name values', () => {
    for (const { when = [], asking } of rules) {
      expect(asking !== undefined).toBe(when.length > 0)
      for (const { values } of when) expect(values.length).toBeGreaterThan(0)
    }
  })
})

const headers = [
  { arch: 'x64', path: '/usr/include/x86_64-linux-gnu/asm/unistd_64.h' },
  { arch: 'arm64', path: '/usr/include/asm-generic/unistd.h' },
] as const

describe('the numbers', () => {
  it.skipIf(headers.some(({ path }) => !existsSync(path))).each(headers)(
    'agree with the kernel headers of this machine for $arch',
    ({ arch, path }) => {
      const defined = readFileSync(path, 'utf8').matchAll(/^#define __NR(?:3264)?_(\w+)\s+(\d+)$/gm)
      const inHeader = new Map([...defined].map(([, name, number]) => [name, Number(number)]))
      const newestInHeader = Math.max(...inHeader.values())
      expect(newestInHeader).toBeGreaterThan(400)
      const ours = Object.entries(callNumbers).map(([name, numbers]: [string, { x64: number; arm64?: number }]) => ({
        name,
        number: numbers[arch],
      }))
      const comparable = ours.filter(({ number = 0 }) => number <= newestInHeader)
      expect(comparable.map(({ name }) => ({ name, number: inHeader.get(name) }))).toEqual(comparable)
    },
  )

  it('are distinct on each architecture', () => {
    for (const arch of ['x64', 'arm64'] as const) {
      const all = Object.values(callNumbers).flatMap((one: { x64: number; arm64?: number }) => one[arch] ?? [])
      expect(new Set(all).size).toBe(all.length)
    }
  })
})
