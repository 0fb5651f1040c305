// The pool as a Provider on `docker`, with one runtime and image. A container never runs as root, so that root runs the cases as an
// ordinary user.
import { statSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { otherUser } from '../fixtures/package-copy.ts'
import type { DockerSuite } from './docker-suite.ts'
import { copyForOtherUser, type OtherUsersCopy } from './other-user.ts'
import { describeProviderOn } from './provider-suite.ts'
import { isRequired } from './required.ts'
import { readTap } from './tap.ts'

const socket = '/var/run/docker.sock'
const limitMs = 5 * 60_000

export async function describeProviderOnDocker({ name, image, runtime }: DockerSuite): Promise<void> {
  if (process.getuid?.() !== 0) return describeProviderOn('docker', { name, docker: { image, runtime } })
  describe(`provider on ${name}`, () => {
    let copy: OtherUsersCopy | undefined
    afterAll(() => copy?.remove())

    it(
      'every case passes for an ordinary user',
      async (context) => {
        const found = statSync(socket, { throwIfNoEntry: false })
        if (found === undefined && !isRequired(name)) context.skip(`no Docker daemon answers at ${socket}`)
        copy = copyForOtherUser('node-test-provider-driver.mjs', { gid: found?.gid ?? otherUser })
        const env = {
          GLOVEBOX_TEST_IMAGE: image,
          ...(runtime === undefined ? {} : { GLOVEBOX_TEST_RUNTIME: runtime }),
          ...(isRequired(name) ? { GLOVEBOX_REQUIRE: 'docker' } : {}),
        }
        const { code, output } = await copy.run(env, { limitMs })
        const { passed, skipped, failures } = readTap(output)
        const absent = skipped.find((title) => title.startsWith('docker is not available here'))
        if (absent !== undefined) context.skip(absent)
        expect(failures.join('\n'), 'cases that failed').toBe('')
        expect(code, output.slice(-4000)).toBe(0)
        expect(passed).toBeGreaterThanOrEqual(17)
      },
      limitMs + 10_000,
    )
  })
}
