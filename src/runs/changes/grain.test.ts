import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { hasFineTimes } from './grain.ts'

let scratch = ''
beforeEach(() => void (scratch = mkdtempSync(join(tmpdir(), 'glovebox-grain-'))))
afterEach(() => rmSync(scratch, { recursive: true }))

describe('hasFineTimes', () => {
  it('leaves nothing where it asked', () => {
    expect(typeof hasFineTimes(scratch, [scratch])).toBe('boolean')
    expect(readdirSync(scratch)).toEqual([])
  })

  it('is not so for a tree that is not there, or lies on another filesystem than the one that is asked', () => {
    expect(hasFineTimes(scratch, [scratch, join(scratch, 'missing')])).toBe(false)
    const elsewhere = ['/dev/shm', '/proc'].find(
      (path) => existsSync(path) && statSync(path).dev !== statSync(scratch).dev,
    )
    expect(hasFineTimes(scratch, [scratch, elsewhere ?? '/proc'])).toBe(false)
  })
})
