import { openSync } from 'node:fs'
import { expect, it } from 'vitest'
import { openSpawner } from '../../../process/spawn.ts'
import { ownerNamespaces } from './owners.ts'

it('a namespace that could not be made is made for the next who asks, and then kept', async () => {
  let asked = 0
  const owners = ownerNamespaces({
    spawner: openSpawner(),
    bwrapPath: '/usr/bin/bwrap',
    kernelId: 1900,
    ofRoot: async () => {
      asked += 1
      if (asked === 1) throw new Error('not this time')
      return openSync('/dev/null', 'r')
    },
  })
  await expect(owners.find(0, 0)).rejects.toThrow('not this time')
  const made = await owners.find(0, 0)
  expect(await owners.find(0, 0)).toBe(made)
  expect(asked).toBe(2)
  await owners.close()
})
