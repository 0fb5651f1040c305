// Proves the example with the exported suite. In a project of yours: import { describeBackend } from 'glovebox/testing'.
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, it } from 'vitest'
import type { HostPath } from '../../src/contract/mount.ts'
import { describeBackend } from '../../src/testing/index.ts'
import { openPoliteBackend } from './polite-backend.ts'

const stateDir = realpathSync(mkdtempSync(join(tmpdir(), 'polite-state-'))) as HostPath
afterAll(() => rmSync(stateDir, { recursive: true, force: true }))

await describeBackend({
  name: 'polite',
  open: () => openPoliteBackend({ stateDir }),
  required: true,
  runner: { describe, it },
})
