// Pages that are made from the code are as fresh as the code.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from './sources.ts'

describe('generated documents', () => {
  it('are what `npm run generate` would write', () => {
    const done = spawnSync(process.execPath, [join(root, 'script/generate.mjs'), '--check'], {
      cwd: root,
      encoding: 'utf8',
    })
    expect(done.stderr).toBe('')
    expect(done.status).toBe(0)
  })
})
