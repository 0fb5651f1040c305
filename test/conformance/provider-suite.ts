// The pool as a Provider on one backend, from the built package. Its state home is the environment's, so each file has its own.
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, it } from 'vitest'
import type { HostPath } from '../../src/contract/mount.ts'
import { describeProvider, findSearchProgram, openBackend, openProvider } from './built.ts'
import { isRequired } from './required.ts'

export interface ProviderSuite {
  /** As GLOVEBOX_REQUIRE names it. Default: the backend. */
  readonly name?: string
  readonly docker?: { readonly image: string; readonly runtime?: string | undefined }
}

export async function describeProviderOn(backend: string, suite: ProviderSuite = {}): Promise<void> {
  const { name = backend, docker } = suite
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-provider-')))
  process.env['GLOVEBOX_STATE_DIR'] = join(directory, 'state')
  afterAll(() => rmSync(directory, { recursive: true, force: true }))
  // JSON is YAML.
  if (docker !== undefined) writeFileSync(join(directory, 'glovebox.yaml'), JSON.stringify({ docker }), { mode: 0o600 })
  const probed = await openBackend(backend, {
    stateDir: join(directory, 'probe') as HostPath,
    searchProgram: findSearchProgram(),
    ...(docker === undefined ? {} : { docker, operatorEnv: process.env }),
  })
  const { available, reason } = await probed.probe()
  await probed.close?.()
  describeProvider({
    name,
    absence: available ? undefined : (reason ?? 'the probe gave no reason'),
    required: isRequired(name),
    open: (limits) => openProvider({ directory, backend, limits }),
    runner: { describe, it },
  })
}
