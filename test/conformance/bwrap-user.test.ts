// bwrap must hold whoever starts it. Run by root, bwrap.test.ts proves it for root and this file proves it for an ordinary
// user: the built package is copied to where that user can read it, and a child node process with the user's uid, HOME
// and state directory runs the same suite with node:test. Run by an ordinary user, bwrap.test.ts is that proof already.
import { conformanceCases } from '../../src/testing/index.ts'
import { describeAsOtherUser } from './as-other-user.ts'

describeAsOtherUser({
  title: 'conformance of bwrap, started by an ordinary user',
  driver: 'node-test-driver.mjs',
  backend: 'bwrap',
  name: 'bwrap',
  limitMs: 10 * 60_000,
  titles: conformanceCases.map(({ title }) => title),
})
