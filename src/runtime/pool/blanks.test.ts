import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { blankIn, fillBlank, linkTo, makeBlanks } from './blanks.ts'

describe('what is made ahead for a claim', () => {
  let place = ''
  let spare = ''
  beforeEach(() => {
    place = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-blanks-')))
    spare = join(place, 'spare')
    mkdirSync(spare)
  })
  afterEach(() => rmSync(place, { recursive: true, force: true }))

  it('a blank that is filled and renamed is a whole file, and there is no second one', () => {
    makeBlanks(spare)
    const blank = blankIn(spare, 'record')
    expect(fillBlank(blank, '{"whole": true}')).toBe(true)
    renameSync(blank, join(spare, 'sandbox.json'))
    expect(readFileSync(join(spare, 'sandbox.json'), 'utf8')).toBe('{"whole": true}')
    expect(lstatSync(join(spare, 'sandbox.json')).mode & 0o777).toBe(0o600)
    expect(fillBlank(blank, 'again')).toBe(false)
  })

  it('a place is linked once, also where nothing was made ahead', () => {
    for (const [name, prepare] of [
      ['with', () => makeBlanks(spare)],
      ['without', () => rmSync(join(spare, '.self'), { force: true })],
    ] as const) {
      prepare()
      linkTo(spare, join(place, name))
      expect(readlinkSync(join(place, name))).toBe(spare)
      expect(() => linkTo(spare, join(place, name))).toThrow('EEXIST')
    }
  })
})
