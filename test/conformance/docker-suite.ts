// The whole contract on `docker`, with one runtime and image. A container runs as the owner of its mounts and never as root, so that
// root runs the suite as an ordinary user who may speak to the daemon.
import { mkdtempSync, realpathSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import type { HostPath } from '../../src/contract/mount.ts'
import { describeBackend, findSearchProgram, openBackend } from './built.ts'
import { copyForOtherUser, type OtherUsersCopy } from './other-user.ts'
import { isRequired } from './required.ts'
import { readTap } from './tap.ts'

export interface DockerSuite {
  /** As GLOVEBOX_REQUIRE names it. */
  readonly name: string
  readonly image: string
  readonly runtime?: string
}

const limitMs = 10 * 60_000
const socket = '/var/run/docker.sock'

export async function describeDocker(suite: DockerSuite): Promise<void> {
  if (process.getuid?.() === 0) return describeAsOtherUser(suite)
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

function describeAsOtherUser({ name, image, runtime }: DockerSuite): void {
  describe(`conformance of ${name}`, () => {
    let copy: OtherUsersCopy | undefined
    afterAll(() => copy?.remove())

    it(
      'every case passes for an ordinary user',
      async (context) => {
        const found = statSync(socket, { throwIfNoEntry: false })
        if (found === undefined && !isRequired(name)) context.skip(`no Docker daemon answers at ${socket}`)
        copy = copyForOtherUser('node-test-driver.mjs', found === undefined ? {} : { gid: found.gid })
        const { code, output } = await copy.run(
          {
            GLOVEBOX_TEST_BACKEND: 'docker',
            GLOVEBOX_TEST_IMAGE: image,
            ...(runtime === undefined ? {} : { GLOVEBOX_TEST_RUNTIME: runtime }),
            ...(isRequired(name) ? { GLOVEBOX_REQUIRE: 'docker' } : {}),
          },
          { limitMs },
        )
        const { passed, skipped, failures } = readTap(output)
        const absent = skipped.find((title) => title.startsWith('docker is not available here'))
        if (absent !== undefined) context.skip(absent)
        expect(failures.join('\n'), 'cases that failed').toBe('')
        expect(code, output.slice(-4000)).toBe(0)
        expect(passed).toBeGreaterThanOrEqual(150)
      },
      limitMs + 10_000,
    )
  })
}
