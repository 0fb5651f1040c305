import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ExecRow } from '../contract/store.ts'
import { makeGround, type Ground } from './ground.test-support.ts'
import { execPlace } from './layout.ts'
import { beginning, forgetStarting, forgetUnbegun, markStarting, neverBegins } from './starting.ts'

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

  it('says so to whoever comes next, of that name alone, until it is forgotten', () => {
    markStarting(ground.root, row, 'sbx_one')
    for (const name of ['sbx_one', 'sbx_one']) expect(neverBegins(ground.root, row, name)).toBe(true)
    expect(neverBegins(ground.root, row, 'sbx_two')).toBe(false)
    markStarting(ground.root, row, 'sbx_two')
    expect(beginning(ground.root, row, 'sbx_two')).toBe(true)
    expect(neverBegins(ground.root, row, 'sbx_two')).toBe(false)
    forgetUnbegun(ground.root, row, 'sbx_one')
    expect(neverBegins(ground.root, row, 'sbx_one')).toBe(false)
    expect(readdirSync(execPlace(ground.root, row))).toEqual(['files'])
  })

  it('is forgotten with all others of the exec when it has ended', () => {
    for (const name of ['sbx_one', 'sbx_two']) markStarting(ground.root, row, name)
    expect(neverBegins(ground.root, row, 'sbx_one')).toBe(true)
    forgetStarting(ground.root, row)
    expect(beginning(ground.root, row, 'sbx_two')).toBe(false)
    expect(readdirSync(execPlace(ground.root, row))).toEqual(['files'])
  })

  it('says nothing of what was named otherwise, nor of an earlier boot, nor where there is none', () => {
    expect(neverBegins(ground.root, row, 'sbx_one')).toBe(false)
    markStarting(ground.root, row, 'sbx_one')
    expect(neverBegins(ground.root, row, 'sbx_two')).toBe(false)
    writeFileSync(join(execPlace(ground.root, row), '.starting-sbx_one'), 'another-boot\n')
    expect(neverBegins(ground.root, row, 'sbx_one')).toBe(false)
  })
})
