// From what a sandbox tells of itself to the pages of its catalog. Pure.
import type { Catalog, CatalogBudgetLine } from '../contract/catalog.ts'
import type { Capability } from '../contract/capability.ts'
import type { ExplainedField } from '../contract/policy.ts'
import type { Description } from '../contract/sandbox.ts'
import type { ShellInfo } from '../contract/shell.ts'
import type { DescribedVault } from '../contract/vault.ts'
import type { Counts, Journal } from './journal.ts'

type Body<Page> = Omit<Page, 'catalogVersion' | 'revision'>
type Json = Catalog['permissions']['policy'][number]['value']

export const runtimeOf = ({ backend, sandboxed, enforced, notEnforced }: Description): Body<Catalog['runtime']> => ({
  backend,
  sandboxed,
  enforced: [...enforced],
  notEnforced: [...notEnforced],
})

export function permissionsOf({ policy, mounts }: Description): Body<Catalog['permissions']> {
  const value = <Value>(field: ExplainedField['field'], otherwise: Value): Value =>
    (policy.find((each) => each.field === field)?.value as Value | undefined) ?? otherwise
  const paths = (mode: string): string[] =>
    mounts.filter((mount) => mount.mode === mode).map((mount) => mount.guestPath)
  return {
    network: value('network', { mode: 'none', allow: [] }),
    files: {
      writable: paths('rw'),
      readOnly: paths('ro'),
      protectedNames: value('protect', []),
      hidden: value('denyRead', []),
      actionsMayDelete: value('delete', false),
    },
    secrets: value('secrets', []),
    policy: policy.map(({ field, value: set, from, ceiling }) => ({
      field,
      value: set as Json,
      from,
      ceiling: ceiling === undefined ? null : { value: ceiling.value as Json, from: ceiling.from },
    })),
  }
}

export const environmentOf = ({ environment }: Description): Body<Catalog['environment']> => ({
  names: [...environment],
})

export const mountsOf = ({ mounts }: Description): Body<Catalog['mounts']> => ({ mounts: [...mounts] })

export const vaultsOf = (vaults: readonly DescribedVault[]): Body<Catalog['vaults']> => ({
  vaults: vaults.map(({ name, guestPath, source, secrets }) => ({
    name,
    guestPath,
    source,
    secrets: secrets.map((secret) => ({ name: secret.name, granted: secret.granted })),
  })),
})

export const shellsOf = (shells: readonly ShellInfo[], redact: (text: string) => string): Body<Catalog['shells']> => ({
  shells: shells.map(({ id, kind, status, openedAt, cwd, commands, queued, current, last }) => ({
    id,
    kind,
    status,
    openedAt,
    cwd,
    commands,
    queued,
    current: current === undefined ? null : { number: current.number, command: redact(current.command) },
    last:
      last === undefined
        ? null
        : { number: last.number, command: redact(last.command), exitCode: last.exitCode, state: last.state },
  })),
})

/** By which capability each limit of a command is held. */
const perCommand: readonly (readonly [ExplainedField['field'], Capability])[] = [
  ['timeoutMs', 'timeout'],
  ['maxStdoutBytes', 'output.bounded'],
  ['maxStderrBytes', 'output.bounded'],
  ['memoryMb', 'memory'],
  ['cpuCores', 'cpu'],
  ['pids', 'pids'],
  ['fileSizeMb', 'fileSize'],
  ['tmpMb', 'tmpSize'],
  ['shmMb', 'tmpSize'],
]

export interface BudgetParts {
  readonly counts: Counts
  readonly aliveMs: number
  readonly further: readonly CatalogBudgetLine[]
}

export function budgetOf(
  { policy, enforced }: Description,
  { counts, aliveMs, further }: BudgetParts,
): Body<Catalog['budget']> {
  const { commands, actions, commandMs, stdoutBytes, stderrBytes } = counts
  const unlimited = (what: string, unit: string, used: number): CatalogBudgetLine => ({
    what,
    unit,
    limit: null,
    used,
    left: null,
    endsAt: null,
  })
  const own = [unlimited('lifetime', 'ms', aliveMs), unlimited('commands', 'count', commands)]
  const known = new Set(further.map(({ what }) => what))
  return {
    asOf: new Date().toISOString(),
    perCommand: perCommand.flatMap(([what, capability]) => {
      const told = policy.find(({ field }) => field === what)
      if (typeof told?.value !== 'number') return []
      const ceiling = told.ceiling?.value
      const enforcedBy = enforced.find((each) => each.what === capability)?.by ?? null
      return [{ what, limit: told.value, ceiling: typeof ceiling === 'number' ? ceiling : null, enforcedBy }]
    }),
    used: { commands, actions, commandMs, stdoutBytes, stderrBytes, aliveMs },
    left: [...own.filter(({ what }) => !known.has(what)), ...further],
  }
}

export function outcomeOf({
  counts,
  running,
  last,
  lastOutput,
}: Pick<Journal, 'counts' | 'running' | 'last' | 'lastOutput'>): Body<Catalog['outcome']> {
  const { succeeded, failed, timedOut, refused, denials } = counts
  return {
    asOf: new Date().toISOString(),
    state: running.length === 0 ? 'idle' : 'working',
    running: [...running],
    counts: { succeeded, failed, timedOut, refused, denials },
    last,
    lastOutput: { stdoutBytes: lastOutput.stdout.length, stderrBytes: lastOutput.stderr.length },
  }
}
