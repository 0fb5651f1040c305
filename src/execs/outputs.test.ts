import { readFileSync, readdirSync, statSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ExecRow } from '../contract/store.ts'
import { makeGround, type Ground } from './ground.test-support.ts'
import { execPlace, recordPlace } from './layout.ts'
import { openOutputs } from './outputs.ts'

let ground: Ground
let row: ExecRow
beforeEach(() => {
  ground = makeGround()
  row = ground.exec()
})
afterEach(() => ground.remove())

const open = (goesOn: boolean) => openOutputs({ root: ground.root, row, goesOn, onGrown: () => {} })
const stdout = (): string => readFileSync(recordPlace(ground.root, row, 'stdout.txt'), 'utf8')

describe('the outputs of an exec', () => {
  it('that came from another server are not written any more by that one, which may only have been stopped', async () => {
    const stopped = await open(false)
    await stopped.stdout.add(Buffer.from('one '))
    const ours = await open(true)
    expect(ours.stdout.totalBytes).toBe(4)
    await stopped.stdout.add(Buffer.from('two '))
    await ours.stdout.add(Buffer.from('two '))
    expect(stdout()).toBe('one two ')
    stopped.close()
    ours.close()
    expect(statSync(recordPlace(ground.root, row, 'stderr.txt')).size).toBe(0)
    expect(readdirSync(execPlace(ground.root, row)).toSorted()).toEqual(['files', 'stderr.txt', 'stdout.txt'])
  })
})
