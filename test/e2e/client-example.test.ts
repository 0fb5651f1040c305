import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { openClientGround } from './client-ground.ts'

const example = fileURLToPath(new URL('../../examples/client', import.meta.url))

describe('examples/client', () => {
  it('prints what its README says', async () => {
    await using ground = await openClientGround()
    const env = { ...process.env, GLOVEBOX_SERVER: ground.url, GLOVEBOX_TOKEN: ground.token }
    const { stdout } = await promisify(execFile)(process.execPath, [join(example, 'word-count.mjs')], { env })
    const [, said = ''] = /It prints\n\n```\n([^`]*)```/.exec(readFileSync(join(example, 'README.md'), 'utf8')) ?? []
    expect(stdout).toBe(said)
  })
})
