import { describe, expect, it, vi } from 'vitest'
import type { ChildEnd } from '../../../process/spawn.ts'
import { followLightChildren } from './light-children.ts'

const request = { file: '/bin/true', args: [], uid: 1, gid: 1, stdio: [] }

function scene() {
  const ends = new Map<number, ChildEnd>()
  const told: [number, ChildEnd][] = []
  let asked = 0
  let pid = 100
  const spawner = {
    start: () => (pid += 1),
    findEnd(one: number) {
      asked += 1
      return ends.get(one)
    },
  }
  const children = followLightChildren(spawner, (...end) => told.push(end))
  return { children, ends, told, asked: () => asked }
}

describe('children that nobody tells us of', () => {
  it('one that closed its pipe is asked until it has ended, and told once', async () => {
    const { children, ends, told } = scene()
    const pid = children.start(request)
    const looking = children.look(pid)
    setTimeout(() => ends.set(pid, { code: 3, signal: null }), 5)
    await looking
    await children.look(pid)
    children.close()
    expect(told).toEqual([[pid, { code: 3, signal: null }]])
  })

  it('one that was told is asked for no more: its number may be somebody else’s', async () => {
    const { children, ends, asked } = scene()
    const pid = children.start(request)
    ends.set(pid, { code: 0, signal: null })
    await children.look(pid)
    const before = asked()
    await children.look(pid)
    children.close()
    expect(asked()).toBe(before)
  })

  it('one whose pipe nobody watched is found all the same', () => {
    vi.useFakeTimers()
    try {
      const { children, ends, told } = scene()
      const pid = children.start(request)
      ends.set(pid, { code: null, signal: 'SIGKILL' })
      vi.advanceTimersByTime(500)
      children.close()
      expect(told).toEqual([[pid, { code: null, signal: 'SIGKILL' }]])
    } finally {
      vi.useRealTimers()
    }
  })
})
