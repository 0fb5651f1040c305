// The whole contract on `local`, which isolates nothing: what it does not enforce is skipped with the reason in sight.
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
  name: 'local',
  open: () => openBackend('local', { stateDir, searchProgram: findSearchProgram() }),
  required: isRequired('local'),
  runner: { describe, it },
})
