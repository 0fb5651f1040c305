import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openModuleProvider } from './module-provider.ts'

let directory: string

const source = `
const say = async () => {}
export const openMine = (settings) => ({ settings, acquire: say, get: say, release: say, destroy: say, reset: say, shutdown: say })
export const openHalf = () => ({ acquire: say })
export class Mine { constructor(settings) { Object.assign(this, openMine(settings)) } }
export const notOne = 'text'
`

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'glovebox-module-'))
  writeFileSync(join(directory, 'mine.mjs'), source)
  const installed = join(directory, 'node_modules', 'my-package')
  mkdirSync(installed, { recursive: true })
  writeFileSync(join(installed, 'package.json'), JSON.stringify({ name: 'my-package', main: './main.mjs' }))
  writeFileSync(join(installed, 'main.mjs'), source)
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const open = (use: string) => openModuleProvider(use, { use, directory, replicas: 7 })

describe('a provider of the operator’s own', () => {
  it.each(['./mine.mjs#openMine', 'my-package#openMine', './mine.mjs#Mine'])(
    '%s is loaded, and given the settings',
    async (use) => {
      expect(await open(use)).toMatchObject({ settings: { replicas: 7 } })
    },
  )

  it.each([
    ['#openMine', /form module#Name/],
    ['./mine.mjs#', /form module#Name/],
    ['./mine.mjs#openYours', /no function/],
    ['./mine.mjs#notOne', /no function/],
    ['./mine.mjs#openHalf', /get, release, destroy, reset, shutdown is missing/],
    ['./missing.mjs#openMine', /cannot be loaded/],
    ['no-such-package#openMine', /cannot be loaded/],
  ])('%s is refused in words', async (use, words) => {
    await expect(open(use)).rejects.toThrow(words)
  })
})
