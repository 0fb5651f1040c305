// The whole contract on `bwrap`, started by whoever runs the tests; bwrap-user.test.ts runs it again as an ordinary user.
import { mkdtempSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import { openBackend } from '../../src/backends/registry.ts'
import type { HostPath } from '../../src/contract/mount.ts'
import { findSearchProgram } from '../../src/runtime/search-program.ts'
import { describeBackend } from '../../src/testing/index.ts'
import { isRequired } from './required.ts'

const stateDir = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-state-'))) as HostPath

await describeBackend({
  name: 'bwrap',
  open: () => openBackend('bwrap', { stateDir, searchProgram: findSearchProgram() }),
  required: isRequired('bwrap'),
  runner: { describe, it },
})
