import { describe, expect, it } from 'vitest'
import { openSilences } from './silence.ts'

const graceMs = 30_000

function listen() {
  let nowMs = 0
  const silences = openSilences({ graceMs, now: () => nowMs })
  return (afterMs: number, beats: Readonly<Record<string, number>>): readonly string[] => {
    nowMs += afterMs
    return [...silences.look(Object.entries(beats).map(([owner, beat]) => ({ owner, beat })))]
  }
}

describe('silence', () => {
  it('of a server whose beat stands still for longer than the grace is its death', () => {
    const look = listen()
    for (let beat = 0; beat <= 6; beat++) expect(look(5000, { still: 7, beating: beat })).toEqual([])
    expect(look(5000, { still: 7, beating: 7 })).toEqual(['still'])
  })

  it('counts from the last beat', () => {
    const look = listen()
    for (let seconds = 0; seconds < 30; seconds += 5) expect(look(5000, { other: 1 })).toEqual([])
    for (let seconds = 0; seconds <= 30; seconds += 5) expect(look(5000, { other: 2 })).toEqual([])
    expect(look(5000, { other: 2 })).toEqual(['other'])
  })

  it('while the store was away, or this server stood still, is nobody’s death', () => {
    for (const awayMs of [10_001, graceMs + 1, 100 * graceMs]) {
      const look = listen()
      for (let seconds = 0; seconds < 30; seconds += 5) expect(look(5000, { other: 1 })).toEqual([])
      expect(look(awayMs, { other: 1 })).toEqual([])
      // It has all of its time again, and no more than that.
      for (let seconds = 0; seconds < 30; seconds += 5) expect(look(5000, { other: 1 })).toEqual([])
      expect(look(5000, { other: 1 })).toEqual(['other'])
    }
  })
})
