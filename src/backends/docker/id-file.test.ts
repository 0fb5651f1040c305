import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openIdFile } from './id-file.ts'

const written = 'a1'.repeat(32)

describe('the id of a container', () => {
  let place: string
  beforeEach(() => void (place = mkdtempSync(join(tmpdir(), 'glovebox-id-'))))
  afterEach(() => rmSync(place, { recursive: true, force: true }))

  it('is known when all of it is written, and not before', () => {
    const file = openIdFile(join(place, 'id'))
    expect(file.id()).toBe(undefined)
    writeFileSync(file.path, written.slice(0, 40))
    expect(file.id()).toBe(undefined)
    writeFileSync(file.path, written)
    expect(file.id()).toBe(written)
  })

  it('stays known when its file is removed, which is kept until it could be read', () => {
    const file = openIdFile(join(place, 'id'))
    writeFileSync(file.path, '')
    file.close()
    expect(existsSync(file.path)).toBe(true)
    writeFileSync(file.path, written)
    file.close()
    expect([existsSync(file.path), file.id()]).toEqual([false, written])
  })
})
