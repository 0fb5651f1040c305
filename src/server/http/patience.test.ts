import { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import type { Delivery } from './deliveries.ts'
import { createPatience } from './patience.ts'

/** A connection with so much to send, whose other end takes what `arrived` says. */
function connectionWith(waitingBytes: number) {
  const socket = new Socket()
  Object.defineProperty(socket, 'writableLength', { value: waitingBytes })
  const told = { stalled: 0, arrived: undefined as number | undefined }
  const deliveries = (): Delivery | undefined =>
    told.arrived === undefined ? undefined : { arrivedBytes: told.arrived, waitingBytes: 1 }
  const look = createPatience({ deliveries, onStalled: () => (told.stalled += 1) })
  return { socket, told, look: () => look(socket) }
}

describe('patience', () => {
  it('waits for a handler, which has nothing to send yet', () => {
    const { socket, told, look } = connectionWith(0)
    for (let count = 0; count < 5; count++) look()
    expect([told.stalled, socket.destroyed]).toEqual([0, false])
  })

  it('goes on while anything arrives at the reader, and ends at the first look at which nothing has', () => {
    const { socket, told, look } = connectionWith(1)
    for (told.arrived = 0; told.arrived < 5; told.arrived++) look()
    expect([told.stalled, socket.destroyed]).toEqual([0, false])
    look()
    expect(socket.destroyed).toBe(false)
    look()
    expect([told.stalled, socket.destroyed]).toEqual([1, true])
  })

  it('has none where nobody can tell what arrives', () => {
    const { socket, told, look } = connectionWith(1)
    look()
    expect([told.stalled, socket.destroyed]).toEqual([1, true])
  })
})
