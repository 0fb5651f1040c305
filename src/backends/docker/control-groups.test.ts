import { describe, expect, it } from 'vitest'
import { openControlGroups, type ProcessHost } from './control-groups.ts'

const errno = (code: string): Error => Object.assign(new Error(code), { code, syscall: 'kill' })

/** Processes by number, with the id of a container each; how often they were looked at, and what was signalled. */
function hostWith(groups: Readonly<Record<number, string>>, onSignal: (pid: number) => void = () => {}) {
  const running = new Map(Object.entries(groups).map(([pid, id]) => [Number(pid), id]))
  const told = { running, looks: 0, signalled: [] as number[] }
  const host: ProcessHost = {
    processes() {
      told.looks++
      return [...running].map(([pid, id]) => [pid, `0::/system.slice/docker-${id}.scope\n`] as const)
    },
    signal(pid) {
      told.signalled.push(pid)
      onSignal(pid)
    },
  }
  return Object.assign(told, { groups: openControlGroups(host) })
}

describe('what runs of a container', () => {
  it('is ended, and nothing else is', async () => {
    const told = hostWith({ 7: 'one', 8: 'one', 9: 'another' }, (pid) => void told.running.delete(pid))
    await told.groups.end('one')
    expect([told.signalled, [...told.running.keys()]]).toEqual([[7, 8], [9]])
  })

  it('is looked for together with all else that is to end, and not without a pause', async () => {
    const told = hostWith({ 7: 'one', 8: 'another', 9: 'third' })
    const begun = performance.now()
    const ended = Promise.all(['one', 'another', 'third', 'one'].map((id) => told.groups.end(id)))
    await expect.poll(() => told.looks).toBeGreaterThanOrEqual(3)
    told.running.clear()
    await ended
    // The first is at once, and a timer may be a moment early.
    expect(told.looks).toBeLessThanOrEqual((performance.now() - begun) / 100 + 2)
  })

  it('that belongs to somebody else is left at once, and the rest of it ended all the same', async () => {
    const told = hostWith({ 7: 'one', 8: 'one' }, (pid) => {
      if (pid === 7) throw errno('EPERM')
    })
    await told.groups.end('one')
    expect([told.signalled, told.looks]).toEqual([[7, 8], 1])
  })

  it('is waited for until nothing of it is seen any more, but for no longer than it may take to die', async () => {
    const told = hostWith({ 7: 'one' }, () => {
      throw errno('ESRCH')
    })
    const begun = performance.now()
    await told.groups.end('one')
    expect(performance.now() - begun).toBeGreaterThan(1900)
  })

  it('is not known where nothing can be looked at: whoever waits may try again', async () => {
    let isBlind = true
    const told = hostWith({})
    const groups = openControlGroups({
      processes() {
        if (isBlind) throw errno('EMFILE')
        told.looks++
        return []
      },
      signal: () => {},
    })
    await groups.end('one')
    isBlind = false
    await groups.end('one')
    expect(told.looks).toBe(1)
  })
})
