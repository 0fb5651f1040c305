// What the host itself trusts: the program that makes the boundary, and the directory in which it keeps its journals.
import { chmodSync, existsSync, readFileSync, writeFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findBwrap } from '../../src/backends/bwrap/facts.ts'
import { guestIdIn, openHost, starters, undefended } from './host.ts'

const refusal = (code: string): unknown => expect.objectContaining({ code })

describe.each(starters)('the program that makes the boundary, started by %s', (starter) => {
  it('a state directory that others can write is refused', async () => {
    const state = mkdtempSync(join(tmpdir(), 'glovebox-state-'))
    chmodSync(state, 0o777)
    const host = await openHost(starter, { env: { GLOVEBOX_STATE_DIR: state } })
    try {
      host.give(state)
      await expect(host.sandbox()).rejects.toEqual(refusal('NOT_PERMITTED'))
      chmodSync(state, 0o755)
      expect((await (await host.sandbox()).run('true')).exitCode, 'control').toBe(0)
    } finally {
      await host.close()
      rmSync(state, { recursive: true, force: true })
    }
  })

  it('a bwrap earlier in PATH is not used', async () => {
    const planted = (directory: string): void => {
      for (const name of ['bwrap', 'sh', 'cat', 'rg', 'node']) {
        writeFileSync(join(directory, name), `#!/bin/sh\necho ${name} >> '${directory}/ran'\n`)
        chmodSync(join(directory, name), 0o755)
      }
    }
    const evil = mkdtempSync(join(tmpdir(), 'glovebox-evil-'))
    chmodSync(evil, 0o777)
    planted(evil)
    const host = await openHost(starter, { env: { PATH: `${evil}:.:/usr/bin:/bin` }, cwd: evil })
    try {
      const guest = await host.sandbox()
      expect((await guest.run('id -u; hostname')).stdout).toBe(`${guestIdIn(host)}\nglovebox\n`)
      await guest.execute('grep_text', { pattern: 'x' })
      expect(existsSync(join(evil, 'ran'))).toBe(false)
      await undefended('bwrap; true', { env: { PATH: `${evil}:/usr/bin:/bin` }, cwd: evil })
      expect(readFileSync(join(evil, 'ran'), 'utf8'), 'control').toContain('bwrap')
    } finally {
      await host.close()
      rmSync(evil, { recursive: true, force: true })
    }
  })
})

describe('which bwrap is taken', () => {
  it('a bwrap that is setuid or that others can change is not used', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'glovebox-bwrap-'))
    const place = join(directory, 'bwrap')
    const withMode = (mode: number): unknown => {
      chmodSync(place, mode)
      return findBwrap([place])
    }
    try {
      writeFileSync(place, '')
      expect(withMode(0o4755)).toMatchObject({ reason: expect.stringContaining('setuid') })
      expect(withMode(0o777)).toMatchObject({ reason: expect.stringContaining('others') })
      expect(withMode(0o775)).toMatchObject({ reason: expect.stringContaining('others') })
      expect(findBwrap([join(directory, 'missing')])).toMatchObject({
        reason: expect.stringContaining('not installed'),
      })
      // The control needs a file of root's; the machine's own bwrap is one.
      expect(findBwrap(['/usr/bin/bwrap'])).toMatchObject({ path: expect.stringContaining('bwrap') })
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  })
})
