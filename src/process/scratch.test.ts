import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { closeScratch } from './scratch.ts'

describe('closeScratch', () => {
  it('removes what nobody may look into, with everything else', () => {
    const directory = mkdtempSync(join(tmpdir(), 'glovebox-scratch-'))
    mkdirSync(join(directory, 'deep', 'er'), { recursive: true })
    writeFileSync(join(directory, 'deep', 'file'), '')
    writeFileSync(join(directory, 'cover'), '', { mode: 0o000 })
    mkdirSync(join(directory, 'wall'), { mode: 0o000 })
    closeScratch(directory)
    expect(existsSync(directory)).toBe(false)
  })
})
