// The whole contract on `bwrap`, started by whoever runs the tests; bwrap-user.test.ts runs it again as an ordinary user.
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
  name: 'bwrap',
  open: () => openBackend('bwrap', { stateDir, searchProgram: findSearchProgram() }),
  required: isRequired('bwrap'),
  runner: { describe, it },
})
