import { describe, expect, it } from 'vitest'
import type { Backend } from '../../contract/backend.ts'
import { keepBackend } from './kept-backend.ts'

/** Only what it can hold is ever looked at here. */
const missing = { name: 'docker', capabilities: {} } as unknown as Backend
const present = { name: 'docker', capabilities: { timeout: 'SIGKILL' } } as unknown as Backend

function answering(...answers: readonly (Backend | Error)[]) {
  const told = { opened: 0, now: 0 }
  const open = async (): Promise<Backend> => {
    const answer = answers[told.opened++] ?? present
    if (answer instanceof Error) throw answer
    return answer
  }
  return Object.assign(told, { kept: keepBackend(open, () => told.now) })
}

describe('a kept backend', () => {
  it('is opened once for all who ask', async () => {
    const told = answering(present)
    await Promise.all([told.kept.get(), told.kept.get()])
    told.now = 1_000_000
    expect(await told.kept.get()).toBe(present)
    expect(told.opened).toBe(1)
  })

  it('that is not there is looked for again, by one for all, and not all the time', async () => {
    const told = answering(missing, missing, present)
    for (let asked = 0; asked < 5; asked++) expect(await told.kept.get()).toBe(missing)
    expect(told.opened).toBe(1)
    told.now = 10_000
    expect(await Promise.all([told.kept.get(), told.kept.get(), told.kept.get()])).toEqual([missing, missing, missing])
    expect(told.opened).toBe(2)
    told.now = 20_000
    expect(await told.kept.get()).toBe(present)
    told.now = 30_000
    expect(await told.kept.get()).toBe(present)
    expect(told.opened).toBe(3)
  })

  it('that could not be opened at all is tried again by the next who asks', async () => {
    const told = answering(new Error('no such image name'), present)
    await expect(told.kept.get()).rejects.toThrow('no such image name')
    expect(await told.kept.get()).toBe(present)
  })

  it('is closed when another comes in its place', async () => {
    const closed: string[] = []
    const closing = (backend: Backend, name: string): Backend => ({
      ...backend,
      close: async () => void closed.push(name),
    })
    const told = answering(closing(missing, 'missing'), closing(present, 'present'))
    await told.kept.get()
    told.now = 10_000
    await told.kept.get()
    expect(closed).toEqual(['missing'])
    await told.kept.close()
    expect(closed).toEqual(['missing', 'present'])
  })
})
