// `glovebox explain`: what `exec` with the same flags would enforce, and how. Nothing is run.
import type { Plan } from '../../contract/backend.ts'
import type { ExplainedField } from '../../contract/policy.ts'
import { renderExplained } from '../../policy/explain.ts'
import { discardPlanned, planSandbox } from '../../runtime/create.ts'
import type { SandboxFlags } from '../flags.ts'
import { jsonLine, printable, table } from '../output.ts'
import type { Doing } from '../program.ts'
import { requestFrom } from '../request.ts'

export async function explain(argv: readonly string[], flags: SandboxFlags, doing: Doing): Promise<number> {
  const planned = await planSandbox(await requestFrom(flags, doing.directory))
  await discardPlanned(planned)
  const { backend, plan, resolved } = planned
  const shown = { backend: backend.name, policy: resolved.explained, plan: withCommand(plan, argv) }
  await doing.face.out.write(flags.json === true ? jsonLine(asJson(shown)) : asText(shown))
  return 0
}

interface Shown {
  readonly backend: string
  readonly policy: readonly ExplainedField[]
  readonly plan: Plan
}

/** The plan leaves the command open as `…`; a command that was given stands in its place. */
function withCommand(plan: Plan, argv: readonly string[]): Plan {
  if (argv.length === 0) return plan
  return { ...plan, argv: plan.argv.flatMap((word) => (word === '…' ? argv : [word])) }
}

function asJson({ backend, policy, plan }: Shown): unknown {
  const { argv, mounts, filter, enforced, notEnforced, spec } = plan
  return {
    backend,
    cwd: spec.cwd,
    policy,
    mounts,
    argv,
    filter,
    environment: Object.keys(spec.env).sort(),
    enforced,
    notEnforced,
  }
}

function asText({ backend, policy, plan }: Shown): string {
  return [
    section('Backend', [backend]),
    section('Policy', renderExplained(policy).split('\n')),
    section('Enforced', table(plan.enforced.map(({ what, by }) => [what, by]))),
    section('Not enforced', table(plan.notEnforced.map(({ what, why }) => [what, why]))),
    section('Mounts, in the order in which they are laid', plan.mounts),
    section('Environment of the guest', [Object.keys(plan.spec.env).sort().join(' ')]),
    section('System-call filter', plan.filter),
    section('Command line', [plan.argv.map(quoted).join(' ')]),
  ].join('\n')
}

function section(title: string, lines: readonly string[]): string {
  const body = lines.length === 0 ? ['nothing'] : lines
  return `${title}\n${body.map((line) => `  ${printable(line)}`.trimEnd()).join('\n')}\n`
}

/** As one would paste it into a shell. */
const quoted = (word: string): string => (/^[\w@%+=:,./…-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)
