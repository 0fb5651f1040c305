// bwrap must hold whoever starts it. Run by root, bwrap.test.ts proves it for root and this file proves it for an ordinary
// user: the built package is copied to where that user can read it, and a child node process with the user's uid, HOME
// and state directory runs the same suite with node:test. Run by an ordinary user, bwrap.test.ts is that proof already.
import { afterAll, describe, expect, it } from 'vitest'
import { copyForOtherUser, type OtherUsersCopy } from './other-user.ts'
import { isRequired } from './required.ts'
import { readTap } from './tap.ts'

const driver = 'node-test-driver.mjs'
const limitMs = 3 * 60_000

describe('conformance of bwrap, started by an ordinary user', () => {
  let copy: OtherUsersCopy | undefined
  afterAll(() => copy?.remove())

  it(
    'every case passes',
    async (context) => {
      if (process.getuid?.() !== 0) context.skip('this is an ordinary user already, see bwrap.test.ts')
      copy = copyForOtherUser(driver)
      const { code, output } = await copy.run(isRequired('bwrap') ? { GLOVEBOX_REQUIRE: 'bwrap' } : {}, { limitMs })
      const { passed, skipped, failures } = readTap(output)
      const absent = skipped.find((title) => title.startsWith('bwrap is not available here'))
      if (absent !== undefined) context.skip(absent)
      expect(failures.join('\n'), 'cases that failed').toBe('')
      expect(code, output.slice(-4000)).toBe(0)
      expect(passed).toBeGreaterThanOrEqual(150)
    },
    limitMs + 10_000,
  )
})
