import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { away, openCircuit, type Seen } from './circuit.ts'

const lookMs = 5000

/** A daemon that is looked at, and the looks that were taken. One that hangs keeps each for its whole time. */
function daemonThat(does: 'answers' | 'hangs') {
  const daemon = { does, looks: 0, atOnce: 0, most: 0, answer: (): void => {} }
  const look = async (): Promise<Seen> => {
    daemon.looks += 1
    daemon.most = Math.max(daemon.most, ++daemon.atOnce)
    const silent = new Promise<Seen>((resolve) => setTimeout(() => resolve('silence'), lookMs))
    const answered = new Promise<Seen>((resolve) => (daemon.answer = () => resolve('answer')))
    if (daemon.does === 'answers') daemon.answer()
    return Promise.race([silent, answered]).finally(() => (daemon.atOnce -= 1))
  }
  return Object.assign(daemon, { circuit: openCircuit({ look }) })
}

const never = (): Promise<never> => new Promise(() => {})
const after = (ms: number): Promise<string> => new Promise((resolve) => setTimeout(() => resolve('done'), ms))

describe('the circuit', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
  afterEach(() => void vi.useRealTimers())

  it('takes no look while everything is soon answered', async () => {
    const { circuit, ...daemon } = daemonThat('answers')
    const work = circuit.unlessAway(() => after(4000))
    await vi.advanceTimersByTimeAsync(60_000)
    expect([await work, daemon.looks, circuit.isOpen()]).toEqual(['done', 0, false])
  })

  it('is never opened by what is merely slow', async () => {
    const daemon = daemonThat('answers')
    const work = daemon.circuit.unlessAway(() => after(50_000))
    await vi.advanceTimersByTimeAsync(49_000)
    expect([daemon.circuit.isOpen(), daemon.looks]).toEqual([false, 9])
    await vi.advanceTimersByTimeAsync(1000)
    expect(await work).toBe('done')
  })

  it('is opened by a look that is not answered, by one for all who wait, and nobody waits any longer', async () => {
    const daemon = daemonThat('hangs')
    const all = Array.from({ length: 5 }, () => daemon.circuit.unlessAway(never))
    await vi.advanceTimersByTimeAsync(9999)
    expect([daemon.circuit.isOpen(), daemon.looks]).toEqual([false, 1])
    await vi.advanceTimersByTimeAsync(1)
    expect(daemon.circuit.isOpen()).toBe(true)
    expect(new Set(await Promise.all(all))).toEqual(new Set([away]))
  })

  it('lets nothing begin while it is open', async () => {
    const { circuit } = daemonThat('hangs')
    circuit.attend(never())
    await vi.advanceTimersByTimeAsync(10_000)
    let begun = 0
    expect(await circuit.unlessAway(async () => ++begun)).toBe(away)
    expect(begun).toBe(0)
  })

  it('is looked at one at a time while it is open, and closed by the first answer', async () => {
    const daemon = daemonThat('hangs')
    const { circuit } = daemon
    circuit.attend(never())
    await vi.advanceTimersByTimeAsync(60_000)
    expect([circuit.isOpen(), daemon.most, circuit.closedForMs()]).toEqual([true, 1, 0])
    expect(daemon.looks).toBeGreaterThan(8)
    daemon.does = 'answers'
    daemon.answer()
    await vi.advanceTimersByTimeAsync(1000)
    expect([circuit.isOpen(), circuit.closedForMs()]).toEqual([false, 1000])
    expect(await circuit.unlessAway(async () => 'begun')).toBe('begun')
  })

  it('opens again where the daemon hangs again', async () => {
    const daemon = daemonThat('hangs')
    daemon.circuit.suspect()
    await vi.advanceTimersByTimeAsync(8000)
    daemon.answer()
    await vi.advanceTimersByTimeAsync(100)
    expect(daemon.circuit.isOpen()).toBe(false)
    daemon.circuit.suspect()
    await vi.advanceTimersByTimeAsync(5000)
    expect(daemon.circuit.isOpen()).toBe(true)
    daemon.does = 'answers'
    await vi.advanceTimersByTimeAsync(8000)
    expect(daemon.circuit.isOpen()).toBe(false)
    const { looks } = daemon
    await vi.advanceTimersByTimeAsync(60_000)
    expect(daemon.looks).toBe(looks)
  })

  it('learns nothing from a look that could not be taken', async () => {
    let seen: Seen | Error = new Error('no process could be started')
    const look = async (): Promise<Seen> => {
      if (seen instanceof Error) throw seen
      return seen
    }
    const circuit = openCircuit({ look })
    circuit.attend(never())
    await vi.advanceTimersByTimeAsync(20_000)
    expect(circuit.isOpen()).toBe(false)
    seen = 'silence'
    await vi.advanceTimersByTimeAsync(5000)
    expect(circuit.isOpen()).toBe(true)
    seen = 'nothing'
    await vi.advanceTimersByTimeAsync(20_000)
    expect(circuit.isOpen()).toBe(true)
  })

  it('takes no look when it is closed for good', async () => {
    const daemon = daemonThat('hangs')
    daemon.circuit.attend(never())
    await vi.advanceTimersByTimeAsync(12_000)
    daemon.circuit.close()
    const { looks } = daemon
    await vi.advanceTimersByTimeAsync(60_000)
    expect(daemon.looks).toBe(looks)
  })
})
