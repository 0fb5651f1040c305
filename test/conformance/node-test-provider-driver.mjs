// Runs the built cases of Provider with node's own test runner, as another user: see other-user.ts.
import { execFile } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { openBackend } from './dist/backends/registry.js'
import { openProvider } from './dist/runtime/pool/holder.js'
import { findSearchProgram } from './dist/runtime/search-program.js'
import { describeProvider } from './dist/testing/index.js'

const { GLOVEBOX_REQUIRE: required, GLOVEBOX_STATE_DIR: stateDir } = process.env
const { GLOVEBOX_TEST_IMAGE: image, GLOVEBOX_TEST_RUNTIME: runtime } = process.env
const backend = 'docker'
const directory = mkdtempSync(join(tmpdir(), 'glovebox-provider-'))
writeFileSync(join(directory, 'glovebox.yaml'), JSON.stringify({ docker: { image, runtime } }))

const probed = await openBackend(backend, {
  stateDir,
  searchProgram: findSearchProgram(),
  docker: { image, runtime },
  operatorEnv: process.env,
})
const { available, reason } = await probed.probe()
await probed.close?.()

const docker = async (...args) => (await promisify(execFile)('docker', args)).stdout

describeProvider({
  name: backend,
  absence: available ? undefined : (reason ?? 'the probe gave no reason'),
  required: required === backend,
  open: (limits) => openProvider({ directory, backend, limits }),
  removeBehindTheBack: async (id) => {
    const listed = await docker('ps', '--all', '--quiet', '--filter', `name=${id}`)
    const there = listed.split('\n').filter(Boolean)
    if (there.length === 0) throw new Error('there is no container that could be removed')
    await docker('rm', '--force', ...there)
  },
  runner: { describe, it },
})
