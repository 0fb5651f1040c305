// The verifier of an audit log. It shares no code with the writer, so that a fault of the writer cannot hide itself, and
// needs nothing but node:fs and node:crypto, a copy of the log's directory, and the public key. It checks every link, every
// head and the signatures that vouch for them, counts what it checked, and tells a torn tail from tampering.
// It cannot tell a log whose end was removed together with the heads that signed it from an earlier state of the same log:
// for that, keep a head elsewhere (`glovebox audit head`) and give it as `expect`.
import { checkHeads, headsFile, readKey, type SignedHead } from './verify/heads.ts'
import { directorySource, type LogSource } from './verify/source.ts'
import { gravest, type Finding, type Verdict } from './verify/verdicts.ts'
import { walk } from './verify/walk.ts'

export const publicKeyFile = 'public-key.pem'

export interface VerifyOptions {
  /** The public key in PEM form, from a place that the log's owner cannot write. Default: the one in the directory. */
  readonly key?: Buffer
  /** A head that was kept elsewhere. */
  readonly expect?: { readonly seq: number; readonly hash: string }
}

export interface VerifyReport {
  readonly verdict: Verdict
  readonly findings: readonly Finding[]
  readonly checked: {
    readonly records: number
    readonly segments: number
    readonly heads: number
    readonly bytes: number
  }
  /** The last record that follows from the first without a fault. */
  readonly last: { readonly seq: number; readonly hash: string }
  /** Records up to this one are signed. */
  readonly signedThrough: number
  /** Of that record; null if none is signed. */
  readonly signedHash: string | null
  readonly openIntents: number
  readonly unknownOutcomes: number
  /** SHA-256 of the key with which the heads were checked. */
  readonly key: string | null
}

export const verifyAudit = (directory: string, options: VerifyOptions = {}): VerifyReport =>
  verifySource(directorySource(directory), options)

export function verifySource(source: LogSource, options: VerifyOptions = {}): VerifyReport {
  const key = readKey(options.key ?? source.read(publicKeyFile))
  // Before the records: a writer may be at work, and a head must not name what was not there yet when it was read.
  const headBytes = source.read(headsFile) ?? Buffer.alloc(0)
  const { heads, lines, findings } =
    key === undefined ? { heads: [], lines: 0, findings: [noKey] } : checkHeads(headBytes, key)
  const signed = heads.reduce((most, { seq }) => Math.max(most, seq), 0)
  const walked = walk(source, {
    heads: [...heads, ...kept(options)],
    lastSigned: Math.max(signed, options.expect?.seq ?? 0),
    fingerprint: key?.fingerprint,
  })
  const signedThrough = Math.min(signed, walked.last.seq)
  const all = [...findings, ...walked.findings, ...unsignedTail(walked.last.seq, signedThrough)]
  return {
    verdict: gravest(all),
    findings: all,
    checked: {
      records: walked.last.seq,
      segments: walked.segments,
      heads: lines,
      bytes: walked.bytes + headBytes.length,
    },
    last: walked.last,
    signedThrough,
    signedHash: heads.find(({ seq }) => seq === signedThrough)?.hash ?? null,
    openIntents: walked.openIntents,
    unknownOutcomes: walked.unknownOutcomes,
    key: key?.fingerprint ?? null,
  }
}

const noKey: Finding = {
  verdict: 'bad-signature',
  what: 'there is no readable ed25519 public key, so no head can be trusted',
  file: publicKeyFile,
}

const kept = ({ expect }: VerifyOptions): readonly SignedHead[] =>
  expect === undefined ? [] : [{ ...expect, line: 0, offset: 0 }]

function unsignedTail(last: number, signed: number): readonly Finding[] {
  if (last <= signed) return []
  const what = signed === 0 ? 'no record is signed' : `${last - signed} records after ${signed} are not signed`
  return [{ verdict: 'unsigned-tail', what, seq: signed + 1 }]
}
