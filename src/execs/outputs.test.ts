import { mkdirSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ExecRow } from '../contract/store.ts'
import { makeGround, type Ground } from './ground.test-support.ts'
import { execPlace, recordPlace } from './layout.ts'
import { forgetCuts, openOutputs, wasCut } from './outputs.ts'

let ground: Ground
let row: ExecRow
beforeEach(() => {
  ground = makeGround()
  row = ground.exec()
})
afterEach(() => ground.remove())

const told: string[] = []
const open = (goesOn: boolean) =>
  openOutputs({ root: ground.root, row, goesOn, onGrown: () => {}, log: (about) => told.push(about) })
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

  it('are known to be cut from the first byte that is not kept, by the next server too, and no sooner', async () => {
    const limit = Number(row.policy_snapshot?.['max_stdout_bytes'])
    const isCut = (): readonly boolean[] => [wasCut(ground.root, row, 'stdout'), wasCut(ground.root, row, 'stderr')]
    const first = await open(false)
    for (const length of [limit - 1, 1, 0]) await first.stdout.add(Buffer.alloc(length))
    expect([first.stdout.truncated, ...isCut()]).toEqual([false, false, false])
    await first.stdout.add(Buffer.alloc(1))
    expect([first.stdout.truncated, ...isCut()]).toEqual([true, true, false])
    first.close()
    const next = await open(true)
    expect([next.stdout.truncated, next.stderr.truncated, next.stdout.totalBytes]).toEqual([true, false, limit])
    next.close()
    forgetCuts(ground.root, row)
    expect(isCut()).toEqual([false, false])
  })

  it('end no command though it cannot be noted that they are cut', async () => {
    const outputs = await open(false)
    mkdirSync(join(execPlace(ground.root, row), '.stdout-cut'))
    await outputs.stdout.add(Buffer.alloc(2 * 1024 * 1024))
    expect([outputs.stdout.truncated, told]).toEqual([
      true,
      [`that stdout of ${row.exec_id} is cut could not be noted`],
    ])
    outputs.close()
  })
})
