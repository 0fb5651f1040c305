// The pool as a Provider on one backend, from the built package. Its state home is the environment's, so each file has its own.
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, it } from 'vitest'
import type { HostPath } from '../../src/contract/mount.ts'
import { describeProvider, findSearchProgram, openBackend, openProvider } from './built.ts'
import { isRequired } from './required.ts'

export async function describeProviderOn(backend: string): Promise<void> {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-provider-')))
  process.env['GLOVEBOX_STATE_DIR'] = join(directory, 'state')
  afterAll(() => rmSync(directory, { recursive: true, force: true }))
  const probed = await openBackend(backend, {
    stateDir: join(directory, 'probe') as HostPath,
    searchProgram: findSearchProgram(),
  })
  const { available, reason } = await probed.probe()
  await probed.close?.()
  describeProvider({
    name: backend,
    absence: available ? undefined : (reason ?? 'the probe gave no reason'),
    required: isRequired(backend),
    open: (limits) => openProvider({ directory, backend, limits }),
    runner: { describe, it },
  })
}
