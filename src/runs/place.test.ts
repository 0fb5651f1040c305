import { mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isGloveboxError } from '../errors/error.ts'
import { createRun } from './run.ts'

let ground: string
beforeEach(() => {
  ground = mkdtempSync(join(tmpdir(), 'glovebox-place-'))
})
afterEach(() => rmSync(ground, { recursive: true, force: true }))

async function refusalAt(sandboxPath: string): Promise<{ readonly code: string; readonly hint: string | undefined }> {
  try {
    await createRun({ config: {}, prompt: '', sandboxPath: join(ground, sandboxPath) })
  } catch (error) {
    if (!isGloveboxError(error)) throw error
    const { code, hint } = error
    return { code, hint }
  }
  throw new Error('it was created')
}

describe('a place in which a run cannot be made is told as a mistake, with a hint', () => {
  const hint = expect.stringContaining('--sandbox DIR') as string
  beforeEach(() => {
    symlinkSync(join(ground, 'nowhere'), join(ground, 'link'))
    symlinkSync('circle', join(ground, 'circle'))
    writeFileSync(join(ground, 'file'), '')
  })

  it.each([
    ['through a link to nothing', 'link/run', 'NOT_FOUND'],
    ['further below a link to nothing', 'link/a/run', 'NOT_FOUND'],
    ['through a circle of links', 'circle/run', 'LINK_REFUSED'],
    ['below a file', 'file/run', 'NOT_A_DIRECTORY'],
    ['further below a file', 'file/a/run', 'NOT_A_DIRECTORY'],
    ['with a name that is too long', `${'a'.repeat(300)}/run`, 'INVALID_PATH'],
  ])('%s', async (_, place, code) => {
    expect(await refusalAt(place)).toEqual({ code, hint })
    expect(readdirSync(ground).toSorted()).toEqual(['circle', 'file', 'link'])
  })
})
