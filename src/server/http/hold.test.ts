import { connect, createServer, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createHold } from './hold.ts'

const sockets: Socket[] = []
const pair = async (): Promise<Socket> => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0
  const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve))
  sockets.push(connect(port, '127.0.0.1'))
  const socket = await accepted
  sockets.push(socket)
  server.close()
  return socket
}

let socket: Socket
beforeEach(async () => {
  socket = await pair()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
  for (const each of sockets.splice(0)) each.destroy()
})

describe('hold', () => {
  it('a few refusals are answered at once, and those of others too', () => {
    const hold = createHold()
    let answered = 0
    for (let each = 0; each < 16; each++) hold.refuse('a', socket, () => (answered += 1))
    expect(answered).toBe(16)
    hold.refuse('a', socket, () => (answered += 1))
    hold.refuse('b', socket, () => (answered += 1))
    expect(answered).toBe(17)
    expect(hold.waiting).toBe(1)
  })

  it('whoever goes on is answered a moment later, in order, and it is told that it will be', () => {
    const hold = createHold()
    const answered: number[] = []
    const ways = Array.from({ length: 40 }, (_, each) => hold.refuse('a', socket, () => answered.push(each)))
    expect(answered).toHaveLength(16)
    expect(ways).toEqual([...Array<string>(16).fill('answered'), ...Array<string>(24).fill('held')])
    vi.advanceTimersByTime(500)
    expect(answered).toHaveLength(16)
    vi.advanceTimersByTime(1000)
    expect(answered).toEqual(Array.from({ length: 40 }, (_, each) => each))
    expect(hold.waiting).toBe(0)
  })

  it('a second later it is answered at once again', () => {
    const hold = createHold()
    let answered = 0
    for (let each = 0; each < 17; each++) hold.refuse('a', socket, () => (answered += 1))
    vi.advanceTimersByTime(1000)
    expect(answered).toBe(17)
    hold.refuse('a', socket, () => (answered += 1))
    expect(answered).toBe(18)
  })

  it('it is remembered for a while that somebody was held, and of nobody else', () => {
    const hold = createHold()
    for (let each = 0; each < 16; each++) hold.refuse('a', socket, () => {})
    expect(hold.wasHeld('a')).toBe(false)
    hold.refuse('a', socket, () => {})
    expect([hold.wasHeld('a'), hold.wasHeld('b')]).toEqual([true, false])
    vi.advanceTimersByTime(9_999)
    expect(hold.wasHeld('a')).toBe(true)
    vi.advanceTimersByTime(1)
    expect(hold.wasHeld('a')).toBe(false)
  })

  it('whoever was told late and asks all the same waits longer, and what it is told comes in a stream and not in a wave', () => {
    const hold = createHold()
    const refuseMany = (many: number): { readonly answered: number } => {
      const told = { answered: 0 }
      for (let each = 0; each < many; each++) hold.refuse('a', socket, () => (told.answered += 1))
      return told
    }
    refuseMany(17)
    vi.advanceTimersByTime(750)
    const again = refuseMany(100)
    const before = again.answered
    vi.advanceTimersByTime(2999)
    expect(again.answered, 'longer than the first time').toBe(before)
    vi.advanceTimersByTime(101)
    expect(again.answered - before, 'one every 5 ms').toBe(21)
    vi.advanceTimersByTime(10_000)
    expect(again.answered).toBe(100)
    // It has been forgotten by now.
    vi.advanceTimersByTime(10_000)
    const later = refuseMany(17)
    vi.advanceTimersByTime(750)
    expect(later.answered).toBe(17)
  })

  it('it is remembered as long that somebody asked for more while it was held', () => {
    const hold = createHold()
    hold.press('a')
    expect([hold.hasPressed('a'), hold.hasPressed('b'), hold.wasHeld('a')]).toEqual([true, false, false])
    let answered = 0
    for (let each = 0; each < 17; each++) hold.refuse('a', socket, () => (answered += 1))
    vi.advanceTimersByTime(2999)
    expect(answered, 'it waits longer').toBe(16)
    // Others do not wait for it.
    let others = 0
    for (let each = 0; each < 17; each++) hold.refuse('b', socket, () => (others += 1))
    vi.advanceTimersByTime(1)
    expect(answered).toBe(17)
    vi.advanceTimersByTime(749)
    expect(others).toBe(17)
    vi.advanceTimersByTime(7000)
    expect(hold.hasPressed('a')).toBe(false)
  })

  it('a crowd of others that are held does not let it be forgotten, and what is remembered is bounded', () => {
    const hold = createHold()
    const holdOnce = (who: string): void => {
      for (let each = 0; each < 17; each++) hold.refuse(who, socket, () => {})
    }
    holdOnce('first')
    holdOnce('a')
    for (let each = 0; each < 999; each++) holdOnce(`crowd ${each}`)
    expect([hold.wasHeld('first'), hold.wasHeld('a'), hold.wasHeld('crowd 0')]).toEqual([false, true, true])
  })

  it('what waits is bounded: a connection beyond is closed', () => {
    const hold = createHold()
    for (let each = 0; each < 16 + 2048; each++) hold.refuse('a', socket, () => {})
    expect([hold.waiting, socket.destroyed]).toEqual([2048, false])
    hold.refuse('a', socket, () => {})
    expect([hold.waiting, socket.destroyed]).toEqual([2048, true])
  })

  it('nobody is answered who has gone', () => {
    const hold = createHold()
    let answered = 0
    for (let each = 0; each < 20; each++) hold.refuse('a', socket, () => (answered += 1))
    socket.destroy()
    vi.advanceTimersByTime(2000)
    expect([answered, hold.waiting]).toEqual([16, 0])
  })
})
