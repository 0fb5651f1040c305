// Runs the cases of Provider with whatever runner the caller has, on anybody's provider.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { Provider } from '../contract/provider.ts'
import { providerCases, type ProviderCase, type ProviderLimits, type ProviderSubject } from './provider-cases.ts'
import type { TestRunner } from './suite.ts'

export interface DescribeProviderOptions {
  readonly name: string
  /** Why it cannot be had here; undefined where it can. */
  readonly absence?: string | undefined
  /** When true, one that cannot be had fails the suite instead of being skipped. */
  readonly required: boolean
  /** Over one place each time. */
  open(limits: ProviderLimits): Promise<Provider>
  readonly removeBehindTheBack?: (id: string) => Promise<void>
  readonly runner: TestRunner
}

const nothing = async (): Promise<void> => {}
const usualLimits: ProviderLimits = { replicas: 3, waitMs: 10_000 }

export function describeProvider(options: DescribeProviderOptions): void {
  const { name, absence, required, runner } = options
  runner.describe(`provider on ${name}`, () => {
    if (absence === undefined) for (const [index, wanted] of providerCases.entries()) announce(options, wanted, index)
    else if (required) runner.it(`${name} is required here and is available`, async () => assert.fail(absence))
    else runner.it.skip(`${name} is not available here [skipped: ${absence}]`, nothing)
  })
}

function announce(options: DescribeProviderOptions, wanted: ProviderCase, index: number): void {
  const { runner, removeBehindTheBack } = options
  if (wanted.needsRemoval === true && removeBehindTheBack === undefined) {
    runner.it.skip(`${wanted.title} [skipped: nothing of a sandbox runs between commands]`, nothing)
    return
  }
  runner.it(wanted.title, async () => {
    const opened: Provider[] = []
    const user = `case-${index}-${randomBytes(4).toString('hex')}`
    const subject: ProviderSubject = {
      async open(limits = {}) {
        const provider = await options.open({ ...usualLimits, ...limits })
        opened.push(provider)
        return provider
      },
      ...(removeBehindTheBack === undefined ? {} : { removeBehindTheBack }),
      key: (thread = 'thread') => ({ user, thread }),
    }
    try {
      await wanted.run(subject)
    } finally {
      for (const provider of opened) await provider.shutdown()
    }
  })
}
