import { expect, it } from 'vitest'
import { createPresence } from './presence.ts'

it('whoever is the only one to have asked lately is alone', () => {
  let now = 0
  const presence = createPresence(() => now)
  expect(presence.isAlone('a')).toBe(true)
  presence.seen('a')
  expect([presence.isAlone('a'), presence.isAlone('b')]).toEqual([true, false])
  now = 100
  presence.seen('b')
  now = 200
  presence.seen('a')
  expect([presence.isAlone('a'), presence.isAlone('b')]).toEqual([false, false])
  now = 351
  expect(presence.isAlone('a'), 'b was seen more than 250 ms ago').toBe(true)
  expect(presence.isAlone('b')).toBe(false)
})

it('whoever has asked within a quarter of a second is there', () => {
  let now = 0
  const presence = createPresence(() => now)
  expect(presence.isAnybodyThere()).toBe(false)
  presence.seen('a')
  now = 250
  expect(presence.isAnybodyThere()).toBe(true)
  now = 251
  expect(presence.isAnybodyThere()).toBe(false)
})
