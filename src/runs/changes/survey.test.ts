import { lstatSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Change } from '../../contract/recorded-action.ts'
import { Blobs } from './blobs.ts'
import { Breath } from './breath.ts'
import { Differences } from './differences.ts'
import { glance } from './glance.ts'
import { sha256, treesForEach } from './ground.test-support.ts'
import { Survey } from './survey.ts'
import { newNode, stampOf, topFacts } from './tree.ts'

const ground = treesForEach()

/** A file that was 'one' when it was seen, and is 'two' by now, with the inode, size and times of before. */
async function lookAtTwin(options: { readonly isDoubtful: boolean }): Promise<readonly Change[]> {
  const hostPath = ground().place('workspace')
  writeFileSync(`${hostPath}/a`, 'two')
  const facts = { ...topFacts, kind: 'file', size: 3, mode: lstatSync(`${hostPath}/a`).mode & 0o7777 } as const
  const top = newNode('workspace', undefined, topFacts)
  const file = newNode('a', top, { ...facts, sha256: sha256('one') })
  file.stamp = stampOf(lstatSync(`${hostPath}/a`))
  file.isDoubtful = options.isDoubtful
  top.stamp = stampOf(lstatSync(hostPath))
  top.isDoubtful = false
  top.children = new Map([['a', file]])
  const differences = new Differences()
  const breath = new Breath()
  const survey = new Survey({
    maxEntries: 10,
    maxDepth: 10,
    hasFineTimes: false,
    budget: { maxFileBytes: 10, hashBytesLeft: 10 },
    blobs: new Blobs(ground().directory, 10),
    breath,
    differences,
    stopped: new Set(),
    count: { entries: 1 },
  })
  await survey.examine(top, hostPath, await glance(top, hostPath, breath))
  return differences.changes()
}

describe('Survey', () => {
  it('compares contents where one time of the filesystem may stand for two states', async () => {
    expect(await lookAtTwin({ isDoubtful: true })).toMatchObject([
      { change: 'changed', path: 'workspace/a', before_sha256: sha256('one'), after_sha256: sha256('two') },
    ])
  })

  it('reads nothing that the kernel says is as it was', async () => {
    expect(await lookAtTwin({ isDoubtful: false })).toEqual([])
  })
})
