import { describe, expect, it } from 'vitest'
import type { Backend, Probe } from '../contract/backend.ts'
import { describeBackend, type TestRunner } from './index.ts'

interface Announced {
  readonly title: string
  readonly body: () => Promise<void>
  readonly skipped: boolean
}

/** A runner that only writes down what it is told. */
function recorder(): { readonly runner: TestRunner; readonly announced: Announced[] } {
  const announced: Announced[] = []
  const note = (skipped: boolean) => (title: string, body: () => Promise<void>) =>
    announced.push({ title, body, skipped })
  const runner: TestRunner = {
    describe: (_title, body) => body(),
    it: Object.assign(note(false), { skip: note(true) }),
  }
  return { runner, announced }
}

const backendWith = (probe: Probe): Backend =>
  ({ name: 'absent', capabilities: {}, probe: async () => probe, list: async () => [] }) as unknown as Backend

const absent = backendWith({ available: false, reason: 'the program is not installed', fix: 'install it' })

describe('describeBackend', () => {
  it('fails when a required backend is not available, and says why', async () => {
    const { runner, announced } = recorder()
    await describeBackend({ name: 'absent', open: async () => absent, required: true, runner })
    expect(announced).toHaveLength(1)
    expect(announced[0]?.skipped).toBe(false)
    await expect(announced[0]?.body()).rejects.toThrow('the program is not installed; fix: install it')
  })

  it('shows one skip with the reason when a backend is neither required nor available', async () => {
    const { runner, announced } = recorder()
    await describeBackend({ name: 'absent', open: async () => absent, required: false, runner })
    expect(announced.map(({ skipped }) => skipped)).toEqual([true])
    expect(announced[0]?.title).toContain('the program is not installed')
  })

  it('announces every case of an available backend, each skip with its reason', async () => {
    const { runner, announced } = recorder()
    const open = async () => backendWith({ available: true })
    await describeBackend({ name: 'present', open, required: true, runner })
    expect(announced.length).toBeGreaterThan(150)
    const skips = announced.filter(({ skipped }) => skipped)
    expect(skips.length).toBeGreaterThan(0)
    for (const { title } of skips) expect(title).toMatch(/\[skipped: absent (does not enforce|enforces) [a-z.]+\]$/i)
    const last = announced.at(-1)
    expect(last?.title).toBe('a suite that has ended leaves no boundary of its own behind')
    await last?.body()
  })
})
