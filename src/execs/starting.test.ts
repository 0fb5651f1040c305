import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ExecRow } from '../contract/store.ts'
import { makeGround, type Ground } from './ground.test-support.ts'
import { execPlace } from './layout.ts'
import { beginning, markStarting, neverBegins } from './starting.ts'

let ground: Ground
let row: ExecRow
beforeEach(() => {
  ground = makeGround()
  row = ground.exec()
})
afterEach(() => ground.remove())

describe('the mark that nothing of an exec has run', () => {
  it('is taken by the one that begins it, and then nobody can say that nothing has run', () => {
    markStarting(ground.root, row, 'sbx_one')
    expect(beginning(ground.root, row, 'sbx_one')).toBe(true)
    expect(neverBegins(ground.root, row, 'sbx_one')).toBe(false)
    expect(readdirSync(execPlace(ground.root, row))).toEqual(['files'])
  })

  it('is taken by the one that found the exec, and then nothing begins any more', () => {
    markStarting(ground.root, row, 'sbx_one')
    expect(neverBegins(ground.root, row, 'sbx_one')).toBe(true)
    expect(beginning(ground.root, row, 'sbx_one')).toBe(false)
  })

  it('is not taken by one that stood still while the exec was given to others, which made a mark of their own', () => {
    markStarting(ground.root, row, 'sbx_one')
    expect(neverBegins(ground.root, row, 'sbx_one')).toBe(true)
    markStarting(ground.root, row, 'sbx_two')
    expect(beginning(ground.root, row, 'sbx_one')).toBe(false)
    expect(beginning(ground.root, row, 'sbx_two')).toBe(true)
  })

  it('says nothing of what was named otherwise, nor of an earlier boot, nor where there is none', () => {
    expect(neverBegins(ground.root, row, 'sbx_one')).toBe(false)
    markStarting(ground.root, row, 'sbx_one')
    expect(neverBegins(ground.root, row, 'sbx_two')).toBe(false)
    writeFileSync(join(execPlace(ground.root, row), '.starting-sbx_one'), 'another-boot\n')
    expect(neverBegins(ground.root, row, 'sbx_one')).toBe(false)
  })
})
