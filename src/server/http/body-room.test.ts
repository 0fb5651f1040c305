import { describe, expect, it } from 'vitest'
import { createBodyRoom } from './body-room.ts'

const kib = 1024
const room = () => createBodyRoom({ bodyBytes: 500 * kib, bodyBytesPerToken: 200 * kib })
const isRefused = (outcome: unknown): boolean => outcome !== undefined

describe('room for bodies', () => {
  it('is bounded for each caller, and for all together', () => {
    const { enter } = room()
    expect(isRefused(enter('a').hold(150 * kib))).toBe(false)
    expect(enter('a').hold(100 * kib)).toMatchObject({ code: 'TOO_MANY_REQUESTS', facts: { retryAfterSeconds: 1 } })
    expect(isRefused(enter('b').hold(200 * kib))).toBe(false)
    expect(enter('c').hold(151 * kib)?.message).toContain('the server')
    expect(isRefused(enter('c').hold(150 * kib))).toBe(false)
  })

  it('is there again when the request is answered, once', () => {
    const { enter } = room()
    const first = enter('a')
    expect(isRefused(first.hold(200 * kib))).toBe(false)
    expect(isRefused(enter('a').hold(100 * kib))).toBe(true)
    first.leave()
    first.leave()
    expect(isRefused(enter('a').hold(200 * kib))).toBe(false)
    expect(isRefused(enter('a').hold(100 * kib))).toBe(true)
  })

  it('is taken for as long as what was begun with the body goes on, whenever the request is answered', async () => {
    const { enter } = room()
    const ends: (() => void)[] = []
    const first = enter('a')
    first.hold(200 * kib)
    for (let count = 0; count < 2; count++) first.keepUntil(new Promise<void>((resolve) => ends.push(resolve)))
    first.leave()
    first.leave()
    ends[0]?.()
    await Promise.resolve()
    expect(isRefused(enter('a').hold(100 * kib))).toBe(true)
    ends[1]?.()
    await Promise.resolve()
    expect(isRefused(enter('a').hold(200 * kib))).toBe(false)
    // Whatever fails has ended.
    const second = enter('b')
    second.hold(200 * kib)
    second.keepUntil(Promise.reject(new Error('it could not be run')))
    await Promise.resolve()
    expect(isRefused(enter('b').hold(100 * kib))).toBe(true)
    second.leave()
    expect(isRefused(enter('b').hold(200 * kib))).toBe(false)
  })

  it('counts a body that grows by what is there of it, and one that is small not at all', () => {
    const { enter } = room()
    for (let count = 0; count < 100; count++) expect(isRefused(enter('a').hold(64 * kib))).toBe(false)
    const growing = enter('a')
    for (const bytes of [10, 100, 100, 200]) expect(isRefused(growing.hold(bytes * kib))).toBe(false)
    expect(isRefused(growing.hold(200 * kib + 1))).toBe(true)
    // What was refused holds nothing more.
    growing.leave()
    expect(isRefused(enter('a').hold(200 * kib))).toBe(false)
  })
})
