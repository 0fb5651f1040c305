import { closeSync, fstatSync, openSync } from 'node:fs'
import { expect, it } from 'vitest'
import { closingOnce } from './closing-once.ts'
import { openSpawner } from './spawn.ts'

it('a descriptor is given back once, and whoever has got its number since keeps it', () => {
  const descriptor = openSync('/dev/null', 'r')
  const close = closingOnce(descriptor)
  close()
  const next = openSync('/dev/null', 'r')
  expect(next, 'control: the number is given out again').toBe(descriptor)
  close()
  expect(() => fstatSync(next)).not.toThrow()
  closeSync(next)
})

it('a spawner that is closed twice closes nothing of anybody else', () => {
  const spawner = openSpawner()
  spawner.close()
  const others = Array.from({ length: 8 }, () => openSync('/dev/null', 'r'))
  spawner.close()
  for (const other of others) expect(() => fstatSync(other)).not.toThrow()
  for (const other of others) closeSync(other)
})
