// Reads refusals of the kernel out of a command's error output, so that an agent learns which rule stopped it
// rather than only "Permission denied". A help, never a decision: the guest writes this text and may lie, which
// is why each is marked `observed`. Only rules that are really enforced are ever named.
// The text is hostile and large: one pass, bounded windows, bounded results.
import type { Capability, Enforced } from '../contract/capability.ts'
import type { Denial } from '../contract/denial.ts'
import type { GuestPath, Mount } from '../contract/mount.ts'
import type { EffectivePolicy } from '../contract/policy.ts'
import { judgePath, type FileComplaint } from './judge-path.ts'
import { hostNear, pathsNear } from './error-words.ts'

export interface ObserveInput {
  readonly backend: string
  readonly stderr: string
  readonly mounts: readonly Mount[]
  readonly policy: EffectivePolicy
  /** Where the command ran: relative paths in its messages start there. */
  readonly cwd: GuestPath
  readonly enforced: readonly Enforced[]
}

const maxDenials = 20
/** A guest that repeats a complaint a million times gets no more attention than this. */
const maxComplaints = 2000
/** How much of a line is read on either side of a complaint. Lines may be as long as the whole output. */
const window = 1024

const fileComplaints: Readonly<Record<string, FileComplaint>> = {
  'read-only file system': 'read-only',
  'permission denied': 'denied',
  'operation not permitted': 'denied',
  'device or resource busy': 'busy',
}

// Literal alternatives only: no repetition, so nothing to backtrack into.
const complaint = new RegExp(
  [
    ...Object.keys(fileComplaints),
    'network is unreachable',
    'could not resolve hostname',
    'could not resolve host',
    "couldn't resolve host",
    'unable to resolve host address',
    'temporary failure in name resolution',
    'temporary failure resolving',
    'name or service not known',
    'no address associated with hostname',
    'getaddrinfo eai_again',
    'getaddrinfo enotfound',
    'enetunreach',
  ].join('|'),
  'gi',
)

interface Complaint {
  readonly phrase: string
  readonly before: string
  readonly after: string
}

/** At most one complaint per line, with what stands around it on that line. */
function* complaintsOf(text: string): Generator<Complaint> {
  // The usual text, and a pattern is compiled at its first use.
  if (text === '') return
  const pattern = new RegExp(complaint)
  for (let count = 0; count < maxComplaints; count += 1) {
    const match = pattern.exec(text)
    if (match === null) return
    const end = match.index + match[0].length
    const before = text.slice(Math.max(0, match.index - window), match.index)
    const after = text.slice(end, end + window)
    const lineEnd = after.indexOf('\n')
    yield {
      phrase: match[0].toLowerCase(),
      before: before.slice(before.lastIndexOf('\n') + 1),
      after: lineEnd === -1 ? after : after.slice(0, lineEnd),
    }
    const next = text.indexOf('\n', end)
    if (next === -1) return
    pattern.lastIndex = next
  }
}

function fileDenial(
  input: ObserveInput,
  { phrase, before, after }: Complaint,
): Omit<Denial, 'backend' | 'evidence'> | undefined {
  const saying = fileComplaints[phrase]
  if (saying === undefined) return undefined
  for (const text of pathsNear(before, after)) {
    const verdict = judgePath(text, saying, input)
    if (verdict !== undefined && isEnforced(input.enforced, verdict.by)) return verdict.denial
  }
  return undefined
}

function networkDenial(
  input: ObserveInput,
  { phrase, before, after }: Complaint,
): Omit<Denial, 'backend' | 'evidence'> | undefined {
  if (Object.hasOwn(fileComplaints, phrase)) return undefined
  if (input.policy.network.mode !== 'none' || !isEnforced(input.enforced, 'network.none')) return undefined
  return {
    kind: 'network',
    subject: hostNear(before, after) ?? 'network',
    rule: 'network.mode=none',
    reason: 'The sandbox has no network but loopback.',
  }
}

const isEnforced = (enforced: readonly Enforced[], what: Capability): boolean =>
  enforced.some((one) => one.what === what)

export function observeDenials(input: ObserveInput): Denial[] {
  const found = new Map<string, Denial>()
  for (const one of complaintsOf(input.stderr)) {
    const denial = fileDenial(input, one) ?? networkDenial(input, one)
    if (denial === undefined) continue
    found.set(JSON.stringify([denial.kind, denial.subject, denial.rule]), {
      backend: input.backend,
      ...denial,
      evidence: 'observed',
    })
    if (found.size === maxDenials) break
  }
  return [...found.values()]
}
