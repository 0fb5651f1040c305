// A suite that is run by root as an ordinary user: with node:test, in a process of that user, from a copy of the built package.
import { statSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { copyForOtherUser, type OtherUsersCopy } from './other-user.ts'
import { isRequired } from './required.ts'
import { readTap } from './tap.ts'

export interface OtherUsersSuite {
  readonly title: string
  readonly driver: string
  readonly backend: 'bwrap' | 'docker'
  /** As GLOVEBOX_REQUIRE names it. */
  readonly name: string
  readonly env?: Readonly<Record<string, string>>
  readonly limitMs: number
  /** A suite that has lost its cases would pass, too. */
  readonly leastCases: number
}

/** With docker: that user may speak to its daemon. */
const socket = '/var/run/docker.sock'

export function describeAsOtherUser(suite: OtherUsersSuite): void {
  const { title, driver, backend, name, env = {}, limitMs, leastCases } = suite
  describe(title, () => {
    let copy: OtherUsersCopy | undefined
    afterAll(() => copy?.remove())

    it(
      'every case passes for an ordinary user',
      async (context) => {
        if (process.getuid?.() !== 0) context.skip('this is an ordinary user already, who runs the suite itself')
        const daemon = backend === 'docker' ? statSync(socket, { throwIfNoEntry: false }) : undefined
        if (backend === 'docker' && daemon === undefined && !isRequired(name))
          context.skip(`no Docker daemon answers at ${socket}`)
        copy = copyForOtherUser(driver, daemon === undefined ? {} : { gid: daemon.gid })
        const demanded = isRequired(name) ? { GLOVEBOX_REQUIRE: backend } : {}
        const { code, output } = await copy.run({ ...env, ...demanded }, { limitMs })
        const { passed, skipped, failures } = readTap(output)
        const absent = skipped.find((each) => each.startsWith(`${backend} is not available here`))
        if (absent !== undefined) context.skip(absent)
        expect(failures.join('\n'), 'cases that failed').toBe('')
        expect(code, output.slice(-4000)).toBe(0)
        expect(passed).toBeGreaterThanOrEqual(leastCases)
      },
      limitMs + 10_000,
    )
  })
}

export const dockerEnv = ({
  image,
  runtime,
}: {
  readonly image: string
  readonly runtime?: string
}): Readonly<Record<string, string>> => ({
  GLOVEBOX_TEST_BACKEND: 'docker',
  GLOVEBOX_TEST_IMAGE: image,
  ...(runtime === undefined ? {} : { GLOVEBOX_TEST_RUNTIME: runtime }),
})
