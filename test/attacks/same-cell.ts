// Whether one command after another comes into the same cell, or container: without that, nothing can be left for the next one.
import { expect } from 'vitest'
import type { Guest } from './host.ts'

/** Numbers of processes go on within a cell, and begin anew in another one. */
const numberOf = async (guest: Guest): Promise<number> => Number((await guest.run('echo $$')).stdout)

/** A command that comes before the last one's container has been looked over has another one made, which may be ready between our two. It
 * rests then, and is taken from then on. */
export async function expectSameCell(guest: Guest, message = 'the cell is used again'): Promise<void> {
  const wentOn = async (): Promise<number> => {
    const first = await numberOf(guest)
    return (await numberOf(guest)) - first
  }
  await expect.poll(wentOn, { message }).toBeGreaterThan(0)
}
