import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Description } from '../contract/sandbox.ts'
import { openCatalog, type LiveCatalog } from './catalog.ts'

const description = {
  id: 'sbx_0123456789abcdef',
  backend: 'bwrap',
  cwd: '/workspace',
  homeDir: '/home/agent',
  tmpDir: '/tmp',
  cacheDir: '/cache',
  mounts: [],
  policy: [],
  enforced: [],
  notEnforced: [],
  sandboxed: true,
  environment: [],
  vaults: [],
  notes: [],
} as unknown as Description

describe('the first set of a catalog', () => {
  let directory = ''
  beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'glovebox-catalog-'))))
  afterEach(() => rmSync(directory, { recursive: true, force: true }))
  const open = (): LiveCatalog =>
    openCatalog({
      directory,
      catalogDir: '/workspace/.glovebox',
      shell: '/bin/sh',
      createdAt: new Date(),
      run: null,
      describe: () => description,
      shells: () => [],
      vaults: () => [],
      budget: () => [],
      redact: (text) => text,
    })
  const isWritten = (): boolean => existsSync(join(directory, 'index.json'))
  /** Longer than it is ever put off. */
  const longEnough = (): Promise<void> => delay(300)

  it('is written for what runs long enough to look, and not while nothing runs', async () => {
    const catalog = open()
    await longEnough()
    expect(isWritten()).toBe(false)
    const deed = catalog.begin({ action: 'run', about: 'sleep 1' })
    await longEnough()
    expect(isWritten()).toBe(true)
    deed.ended({})
    catalog.close()
  })

  it('comes later for what has ended at once, and is there for whoever asks', async () => {
    const catalog = open()
    catalog.begin({ action: 'run', about: 'true' }).ended({})
    await delay(50)
    expect(isWritten()).toBe(false)
    catalog.settle()
    expect(readFileSync(join(directory, 'now', 'history.jsonl'), 'utf8')).toContain('"about":"true"')
    catalog.close()
  })

  it('is written at once where an earlier one lies, and where a shell was opened', async () => {
    writeFileSync(join(directory, 'index.json'), 'of an earlier opening')
    const again = open()
    await longEnough()
    expect(readFileSync(join(directory, 'index.json'), 'utf8')).not.toContain('earlier')
    again.close()
    rmSync(join(directory, 'index.json'))
    const shelled = open()
    shelled.note('shell_opened', 'sh_1 was opened')
    await longEnough()
    expect(isWritten()).toBe(true)
    shelled.close()
  })
})
