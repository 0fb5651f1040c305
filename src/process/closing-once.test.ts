import { closeSync, fstatSync, openSync } from 'node:fs'
import { expect, it } from 'vitest'
import { closingOnce } from './closing-once.ts'
import { openSpawner } from './spawn.ts'

it('a descriptor is given back once, and whoever has got its number since keeps it', () => {
  const descriptor = openSync('/dev/null', 'r')
  const close = closingOnce(descriptor)
  close()
  // Another thread of the process may have it for a moment.
  const others: number[] = []
  while (!others.includes(descriptor) && others.length < 1000) others.push(openSync('/dev/null', 'r'))
  expect(others, 'control: the number is given out again').toContain(descriptor)
  close()
  expect(() => fstatSync(descriptor)).not.toThrow()
  for (const other of others) closeSync(other)
})

it('a spawner that is closed twice closes nothing of anybody else', () => {
  const spawner = openSpawner()
  spawner.close()
  const others = Array.from({ length: 8 }, () => openSync('/dev/null', 'r'))
  spawner.close()
  for (const other of others) expect(() => fstatSync(other)).not.toThrow()
  for (const other of others) closeSync(other)
})
