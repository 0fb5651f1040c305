import { describe, expect, it } from 'vitest'
import type { ChildEnd } from '../../../process/spawn.ts'
import { followOwnChildren } from './own-children.ts'

const request = { file: '/bin/true', args: [], uid: 1, gid: 1, stdio: [] }

function scene() {
  const ends = new Map<number, ChildEnd>()
  const asked: number[] = []
  let pid = 100
  const children = followOwnChildren({
    start: () => (pid += 1),
    findEnd(one) {
      asked.push(one)
      return ends.get(one)
    },
  })
  return { children, ends, asked }
}

describe('children whose ends a signal tells', () => {
  it('each is told its own end, and asked for no more: its number may be somebody else’s', async () => {
    const { children, ends, asked } = scene()
    const [one, other] = [children.start(request), children.start(request)]
    try {
      ends.set(one.pid, { code: 3, signal: null })
      process.emit('SIGCHLD', 'SIGCHLD')
      expect(await one.ended).toEqual({ code: 3, signal: null })
      expect(asked).toEqual([one.pid, other.pid])
      ends.set(other.pid, { code: null, signal: 'SIGKILL' })
      process.emit('SIGCHLD', 'SIGCHLD')
      expect(await other.ended).toEqual({ code: null, signal: 'SIGKILL' })
      expect(asked).toEqual([one.pid, other.pid, other.pid])
    } finally {
      children.close()
    }
  })

  it('an end whose signal was missed is found all the same', async () => {
    const { children, ends } = scene()
    const child = children.start(request)
    try {
      child.ref()
      ends.set(child.pid, { code: 0, signal: null })
      expect(await child.ended).toEqual({ code: 0, signal: null })
    } finally {
      children.close()
    }
  })

  it('nothing listens once it is closed', () => {
    const before = process.listenerCount('SIGCHLD')
    const { children } = scene()
    expect(process.listenerCount('SIGCHLD')).toBe(before + 1)
    children.close()
    expect(process.listenerCount('SIGCHLD')).toBe(before)
  })
})
