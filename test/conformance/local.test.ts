// The whole contract on `local`, which isolates nothing: what it does not enforce is skipped with the reason in sight.
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, it } from 'vitest'
import type { HostPath } from '../../src/contract/mount.ts'
import { describeBackend, findSearchProgram, openBackend } from './built.ts'
import { isRequired } from './required.ts'

const stateDir = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-state-'))) as HostPath
afterAll(() => rmSync(stateDir, { recursive: true, force: true }))

await describeBackend({
  name: 'local',
  open: () => openBackend('local', { stateDir, searchProgram: findSearchProgram() }),
  required: isRequired('local'),
  runner: { describe, it },
})
