// A suite that is run by root as an ordinary user: with node:test, in a process of that user, from a copy of the built package. Each of its
// cases is one here, which passes, fails or is skipped as it was there, for the reason that was given there.
import { statSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { copyForOtherUser, type OtherUsersCopy } from './other-user.ts'
import { isRequired } from './required.ts'
import { readTap, type TapCase } from './tap.ts'

export interface OtherUsersSuite {
  readonly title: string
  readonly driver: string
  readonly backend: 'bwrap' | 'docker'
  /** As GLOVEBOX_REQUIRE names it. */
  readonly name: string
  readonly env?: Readonly<Record<string, string>>
  readonly limitMs: number
  /** One of which nothing was told has not passed. */
  readonly titles: readonly string[]
}

/** With docker: that user may speak to its daemon. */
const socket = '/var/run/docker.sock'

export function describeAsOtherUser(suite: OtherUsersSuite): void {
  const { title, driver, backend, name, env = {}, limitMs, titles } = suite
  describe(title, () => {
    let copy: OtherUsersCopy | undefined
    let absence: string | undefined
    let ended: { readonly code: number | null; readonly output: string } | undefined
    let cases: ReadonlyMap<string, TapCase> = new Map()
    beforeAll(async () => {
      const daemon = backend === 'docker' ? statSync(socket, { throwIfNoEntry: false }) : undefined
      if (process.getuid?.() !== 0) absence = 'this is an ordinary user already, who runs the suite itself'
      else if (backend === 'docker' && daemon === undefined && !isRequired(name))
        absence = `no Docker daemon answers at ${socket}`
      if (absence !== undefined) return
      copy = copyForOtherUser(driver, daemon === undefined ? {} : { gid: daemon.gid })
      const demanded = isRequired(name) ? { GLOVEBOX_REQUIRE: backend } : {}
      ended = await copy.run({ ...env, ...demanded }, { limitMs })
      cases = readTap(ended.output)
      absence = cases.get(`${backend} is not available here`)?.reason
    }, limitMs + 10_000)
    afterAll(() => copy?.remove())

    for (const each of titles) {
      it(each, (context) => {
        if (absence !== undefined) context.skip(absence)
        const { outcome, reason } = cases.get(each) ?? { outcome: 'untold', reason: '' }
        if (outcome === 'skipped' && reason !== '') context.skip(reason)
        expect(outcome, reason).toBe('passed')
      })
    }

    it('nothing else of the suite fails', (context) => {
      if (absence !== undefined) context.skip(absence)
      const others = [...cases].filter(([each]) => !titles.includes(each))
      expect(others.filter(([, { outcome }]) => outcome === 'failed')).toEqual([])
      expect(ended?.code === 0 || [...cases.values()].some(({ outcome }) => outcome === 'failed')).toBe(true)
    })
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
