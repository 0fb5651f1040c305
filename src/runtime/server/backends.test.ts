import { describe, expect, it } from 'vitest'
import type { Backend, Probe } from '../../contract/backend.ts'
import { isFirstThere, withRememberedProbe } from './backends.ts'

/** Only its probe is ever asked for here. */
const backendOf = (answers: readonly boolean[]): { readonly backend: Backend; asked: number } => {
  const told = { asked: 0 }
  const probe = async (): Promise<Probe> => ({ available: answers[told.asked++] ?? false })
  return Object.assign(told, { backend: { name: 'bwrap', probe } as unknown as Backend })
}

describe('a remembered probe', () => {
  it('is believed for a while when it went well', async () => {
    let now = 0
    const told = backendOf([true, true])
    const backend = withRememberedProbe(told.backend, () => now)
    for (let asked = 0; asked < 5; asked++) expect((await backend.probe()).available).toBe(true)
    expect(told.asked).toBe(1)
    now = 60_000
    await backend.probe()
    expect(told.asked).toBe(2)
  })

  it('is asked once more when it did not, and never remembered then', async () => {
    const once = backendOf([false, true])
    expect((await withRememberedProbe(once.backend).probe()).available).toBe(true)
    const never = backendOf([false, false, false, true])
    const backend = withRememberedProbe(never.backend)
    expect((await backend.probe()).available).toBe(false)
    expect((await backend.probe()).available).toBe(true)
  })

  it('is not believed of a backend that has stopped answering, and is again when it answers', async () => {
    const told = backendOf([true, false, false, true])
    let answers = true
    const backend = withRememberedProbe({ ...told.backend, answers: async () => answers })
    expect((await backend.probe()).available).toBe(true)
    answers = false
    expect((await backend.probe()).available).toBe(false)
    answers = true
    expect((await Promise.all([backend.probe(), backend.probe()])).map(({ available }) => available)).toEqual([
      true,
      true,
    ])
    expect(told.asked).toBe(4)
  })
})

describe('the first backend', () => {
  const there = { name: 'docker', capabilities: { timeout: 'SIGKILL' } } as unknown as Backend
  const isReady = (backend: Backend): Promise<boolean> => isFirstThere({ get: async () => backend })

  it('is there while it answers, or where there is nobody who could stop', async () => {
    expect(await isReady(there)).toBe(true)
    expect(await isReady({ ...there, answers: async () => true })).toBe(true)
    expect(await isReady({ ...there, answers: async () => false })).toBe(false)
    expect(await isReady({ ...there, capabilities: {} })).toBe(false)
  })

  it('is believed to be there while nobody knows yet that it does not answer', async () => {
    expect(await isReady({ ...there, answers: () => new Promise(() => {}) })).toBe(true)
  })
})
