import { describe, expect, it } from 'vitest'
import type { Backend, Probe } from '../../contract/backend.ts'
import { withRememberedProbe } from './backends.ts'

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
})
