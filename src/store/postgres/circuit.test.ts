import { describe, expect, it } from 'vitest'
import { createCircuit } from './circuit.ts'

describe('circuit', () => {
  const broken = new Error('gone')
  const setUp = () => {
    let now = 0
    let calls = 0
    const circuit = createCircuit({
      isUnreachable: (error) => error === broken,
      failures: 3,
      restMs: 1000,
      now: () => now,
    })
    const call = (outcome: 'works' | 'breaks' | 'refuses'): Promise<string> =>
      circuit.pass(async () => {
        calls++
        if (outcome === 'breaks') throw broken
        if (outcome === 'refuses') throw new Error('no such row')
        return 'done'
      })
    return { call, circuit, wait: (ms: number) => (now += ms), calls: () => calls }
  }
  const open = { code: 'STORE_UNAVAILABLE' }

  it('opens after some failures in a row, and refuses without calling', async () => {
    const { call, calls } = setUp()
    for (let times = 0; times < 3; times++) await expect(call('breaks')).rejects.toBe(broken)
    await expect(call('works')).rejects.toMatchObject(open)
    expect(calls()).toBe(3)
  })

  it('is not opened by failures that something else comes between', async () => {
    const { call } = setUp()
    for (const between of ['works', 'refuses'] as const) {
      for (let times = 0; times < 2; times++) await expect(call('breaks')).rejects.toBe(broken)
      await call(between).catch(() => {})
    }
    expect(await call('works')).toBe('done')
  })

  it('lets one through after a rest, and the others when that one came back', async () => {
    const { call, circuit, wait, calls } = setUp()
    for (let times = 0; times < 3; times++) await call('breaks').catch(() => {})
    wait(1001)
    let answer = (_text: string): void => {}
    const first = circuit.pass(() => new Promise<string>((done) => (answer = done)))
    await expect(call('works')).rejects.toMatchObject(open)
    answer('first')
    expect(await first).toBe('first')
    expect(await call('works')).toBe('done')
    expect(calls()).toBe(4)
  })

  it('stays open when the one that was let through fails', async () => {
    const { call, wait } = setUp()
    for (let times = 0; times < 3; times++) await call('breaks').catch(() => {})
    wait(1001)
    await expect(call('breaks')).rejects.toBe(broken)
    wait(500)
    await expect(call('works')).rejects.toMatchObject(open)
    wait(501)
    expect(await call('works')).toBe('done')
  })
})
