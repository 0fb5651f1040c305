// The whole contract on `docker`, with one runtime and image. A container runs as the owner of its mounts and never as root, so that
// root runs the suite as an ordinary user who may speak to the daemon.
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, it } from 'vitest'
import type { HostPath } from '../../src/contract/mount.ts'
import { conformanceCases } from '../../src/testing/index.ts'
import { describeAsOtherUser, dockerEnv } from './as-other-user.ts'
import { describeBackend, findSearchProgram, openBackend } from './built.ts'
import { isRequired } from './required.ts'

export interface DockerSuite {
  /** As GLOVEBOX_REQUIRE names it. */
  readonly name: string
  readonly image: string
  readonly runtime?: string
}

export async function describeDocker(suite: DockerSuite): Promise<void> {
  if (process.getuid?.() === 0)
    return describeAsOtherUser({
      title: `conformance of ${suite.name}`,
      driver: 'node-test-driver.mjs',
      backend: 'docker',
      name: suite.name,
      env: dockerEnv(suite),
      // A case that hangs is told by its own limit. gVisor alone takes four minutes, and beside other suites on a busy host three times that.
      limitMs: 20 * 60_000,
      titles: conformanceCases.map(({ title }) => title),
    })
  const stateDir = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-state-'))) as HostPath
  afterAll(() => rmSync(stateDir, { recursive: true, force: true }))
  await describeBackend({
    name: suite.name,
    open: () =>
      openBackend('docker', {
        stateDir,
        searchProgram: findSearchProgram(),
        docker: { image: suite.image, runtime: suite.runtime },
        operatorEnv: process.env,
      }),
    required: isRequired(suite.name),
    runner: { describe, it },
  })
}
