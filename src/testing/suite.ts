// Runs the conformance cases on one backend with whatever runner the caller has: vitest, node:test and mocha all
// offer `describe`, `it` and `it.skip`. A skip is always visible and says why; a backend that is required and not
// there is a failure.
import assert from 'node:assert/strict'
import type { Backend, Probe } from '../contract/backend.ts'
import { inTime, late } from '../process/in-time.ts'
import type { CaseGroup, ConformanceCase } from './case.ts'
import { conformanceGroups } from './groups.ts'
import { openStage, type Stage } from './subject.ts'

export interface TestRunner {
  describe(title: string, body: () => void): unknown
  readonly it: {
    (title: string, body: () => Promise<void>): unknown
    skip(title: string, body: () => Promise<void>): unknown
  }
}

export interface DescribeBackendOptions {
  readonly name: string
  /** Opens the backend. Called once, before the cases are announced: which of them apply depends on its capabilities. */
  open(): Promise<Backend>
  /** When true, a backend that cannot be used here fails the suite instead of being skipped. */
  readonly required: boolean
  readonly runner: TestRunner
}

const nothing = async (): Promise<void> => {}

/** Longer than any case takes on a slow machine: one that never ends is told by its own name, and not by the end of them all. */
const caseLimitMs = 150_000

async function within(limitMs: number, work: Promise<void>): Promise<void> {
  if ((await inTime(work, limitMs)) === late) throw new Error(`still not done after ${limitMs / 1000} s`)
}

/** Why the case does not apply, or undefined when it does. */
export function reasonToSkip(backend: Backend, wanted: ConformanceCase): string | undefined {
  const missing = wanted.requires?.find((capability) => backend.capabilities[capability] === undefined)
  if (missing !== undefined) return `${backend.name} does not enforce ${missing}`
  const present = wanted.lacks?.find((capability) => backend.capabilities[capability] !== undefined)
  if (present !== undefined) return `${backend.name} enforces ${present}`
  return undefined
}

function describeGroup({
  group,
  index,
  backend,
  stage,
  runner,
}: {
  readonly group: CaseGroup
  readonly index: number
  readonly backend: Backend
  readonly stage: Stage
  readonly runner: TestRunner
}): void {
  runner.describe(group.about, () => {
    for (const [position, wanted] of group.cases.entries()) {
      const reason = reasonToSkip(backend, wanted)
      if (reason !== undefined) {
        runner.it.skip(`${wanted.title} [skipped: ${reason}]`, nothing)
        continue
      }
      runner.it(wanted.title, async () => {
        const { subject, leave } = stage.enter(`case-${index}-${position}`)
        try {
          await within(caseLimitMs, wanted.run(subject))
        } finally {
          await within(caseLimitMs, leave())
        }
      })
    }
  })
}

function describeAbsence({ name, required, runner }: DescribeBackendOptions, probe: Probe): void {
  const reason = [probe.reason ?? 'the probe gave no reason', probe.fix].filter(Boolean).join('; fix: ')
  runner.describe(`conformance of ${name}`, () => {
    if (required) {
      runner.it(`${name} is required here and is available`, async () =>
        assert.fail(`${name} is not available: ${reason}`),
      )
    } else {
      runner.it.skip(`${name} is not available here [skipped: ${reason}]`, nothing)
    }
  })
}

/** Await it at the top level of a test file. */
export async function describeBackend(options: DescribeBackendOptions): Promise<void> {
  const { name, runner } = options
  const backend = await options.open()
  const probe = await backend.probe()
  if (!probe.available) return describeAbsence(options, probe)

  const stage = await openStage(backend)
  runner.describe(`conformance of ${name}`, () => {
    for (const [index, group] of conformanceGroups.entries()) describeGroup({ group, index, backend, stage, runner })

    // The last case of all also does the cleaning up: a runner need not offer hooks.
    runner.it('a suite that has ended leaves no boundary of its own behind', async () => {
      const made = await stage.close()
      const alive = new Set((await backend.list()).map((info) => info.id))
      assert.deepEqual(
        made.filter((id) => alive.has(id)),
        [],
      )
    })
  })
}
