// Where a backend would stand, and requests to it.
import type { Ended } from '../contract/exec.ts'
import type { ExecRequest } from '../contract/exec-record.ts'
import type { PolicyValues, ResolvedPolicy } from '../contract/policy.ts'
import { resolvePolicy } from '../policy/resolve.ts'
import type { Boundaries, Following } from './boundaries.ts'
import type { Asked } from './submit.ts'

/** Stands where a backend would: the script says how it ends. */
export type Play = (script: string, following: Following) => Promise<Ended>

export const exit = (code: number): Ended => ({ by: 'exit', code })

const untilStopped: Play = (_, { signal }) =>
  new Promise((resolve) => {
    const end = (): void => resolve({ by: 'cancel', afterMs: 1 })
    if (signal.aborted) end()
    signal.addEventListener('abort', end)
  })

export const play: Play = async (script, following) => {
  if (script.startsWith('exit ')) return exit(Number(script.slice(5)))
  if (script === 'hang') return untilStopped(script, following)
  await following.onStdout(Buffer.from(script))
  return exit(0)
}

const policyOf = (values: PolicyValues): ResolvedPolicy => resolvePolicy([{ layer: 'request', source: 'test', values }])

export const stage = (perform: Play = play): Boundaries => ({
  backend: 'stage',
  resolve: policyOf,
  checkEnvironment: () => {},
  checkSecrets: () => ({ names: [], variables: [] }),
  checkImage: async () => {},
  prepare: async ({ argv, execId, values }) => ({
    boundaryId: `sbx_${execId}`,
    image: null,
    policy: policyOf(values).effective,
    run: (following) => perform(argv[2] ?? '', following),
    close: async () => {},
  }),
  destroy: async () => {},
})

export const request = (command: string, more: Partial<ExecRequest> = {}): ExecRequest => ({
  exec: { kind: 'shell', command },
  ...more,
})
export const asked = (command: string, more: Partial<Asked> = {}) => ({
  request: request(command),
  project: 'project',
  bodySha256: 'a'.repeat(64),
  early: true,
  ...more,
})
