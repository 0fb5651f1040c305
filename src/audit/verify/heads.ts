// Checks the signed heads. Each head carries the hash of the line of the head before, so one good signature vouches for the
// unbroken run of heads before it: a log with a million heads is not a million signatures to check.
import { createHash, createPublicKey, hash, verify, type KeyObject } from 'node:crypto'
import type { Finding } from './verdicts.ts'
import { linesOf } from './source.ts'

export const headsFile = 'heads.jsonl'

export interface SignedHead {
  readonly seq: number
  readonly hash: string
  readonly line: number
  readonly offset: number
}

interface HeadLine extends SignedHead {
  readonly bytes: Buffer
  readonly prev: string
}

export interface CheckedHeads {
  readonly heads: readonly SignedHead[]
  /** Lines looked at. */
  readonly lines: number
  readonly findings: readonly Finding[]
}

export interface TrustedKey {
  readonly key: KeyObject
  readonly fingerprint: string
}

/** Undefined unless it is exactly the text that such a key is written as: base64 has spare bits that could change unseen. */
export function readKey(pem: Buffer | undefined): TrustedKey | undefined {
  try {
    const key = createPublicKey(pem ?? '')
    if (key.asymmetricKeyType !== 'ed25519' || key.export({ type: 'spki', format: 'pem' }) !== pem?.toString())
      return undefined
    const der = key.export({ type: 'spki', format: 'der' })
    return { key, fingerprint: createHash('sha256').update(der).digest('hex') }
  } catch {
    return undefined
  }
}

const hex = (digits: number): string => `"([0-9a-f]{${digits}})"`
const headForm = new RegExp(
  `^\\{"seq":([1-9]\\d{0,14}),"hash":${hex(64)},"segment":\\d+,"bytes":\\d+,"open":\\[[\\d,[\\]]*\\],"time":"[^"\\\\]*",` +
    `"key":${hex(64)},"prev":${hex(64)},"signature":${hex(128)}\\}$`,
)
const signatureBytes = ',"signature":""}'.length + 128
const domain = Buffer.from('glovebox-audit-head/1\n')
const noHead = '0'.repeat(64)

export function checkHeads(bytes: Buffer, key: TrustedKey): CheckedHeads {
  const findings: Finding[] = []
  const runs: HeadLine[][] = []
  let lines = 0
  let expected = noHead
  for (const { bytes: text, offset, isWhole } of linesOf([bytes])) {
    lines += 1
    const at = { file: headsFile, line: lines, offset }
    const head = isWhole ? readHead(text, lines, offset, key) : undefined
    if (!isWhole) findings.push({ verdict: 'torn-tail', what: 'the last head was cut short', ...at })
    else if (head === undefined) findings.push({ verdict: 'bad-signature', what: 'a head cannot be read', ...at })
    const run = head?.prev === expected ? runs.at(-1) : undefined
    if (head !== undefined && run !== undefined) run.push(head)
    else if (head !== undefined) runs.push([head])
    expected = head === undefined ? 'after something unreadable' : hash('sha256', text, 'hex')
  }
  const vouched = runs.map((run) => vouchedPart(run, key, findings))
  if (findings.every(({ verdict }) => verdict === 'torn-tail')) findings.push(...seams(vouched))
  return { heads: vouched.flat(), lines, findings }
}

function readHead(bytes: Buffer, line: number, offset: number, key: TrustedKey): HeadLine | undefined {
  const [, seq, own = '', fingerprint, prev = ''] = headForm.exec(bytes.toString('latin1')) ?? []
  if (seq === undefined || fingerprint !== key.fingerprint) return undefined
  return { seq: Number(seq), hash: own, prev, line, offset, bytes }
}

/** From the end: the first good signature vouches for the rest. Those behind it are bad. */
function vouchedPart(run: readonly HeadLine[], key: TrustedKey, findings: Finding[]): readonly HeadLine[] {
  let end = run.length
  for (let head = run[end - 1]; head !== undefined && !isSigned(head, key); head = run[end - 1]) {
    const { line, offset, seq } = head
    findings.push({
      verdict: 'bad-signature',
      what: 'a head is not what the key signed',
      file: headsFile,
      line,
      offset,
      seq,
    })
    end -= 1
  }
  return run.slice(0, end)
}

function isSigned({ bytes }: HeadLine, { key }: TrustedKey): boolean {
  const end = bytes.length - signatureBytes
  const signature = Buffer.from(bytes.toString('latin1', end + ',"signature":"'.length, bytes.length - 2), 'hex')
  return verify(null, Buffer.concat([domain, bytes.subarray(0, end)]), key, signature)
}

/** Where good heads do not follow each other, one was taken away, or two histories were signed. */
function seams(runs: readonly (readonly HeadLine[])[]): readonly Finding[] {
  const hashes = new Map<number, string>()
  const findings: Finding[] = []
  let last = 0
  for (const run of runs) {
    for (const [index, head] of run.entries()) {
      const { seq, line, offset } = head
      const at = { file: headsFile, line, offset, seq }
      const isSeam = index === 0 && (line > 1 || head.prev !== noHead)
      const other = hashes.get(seq)
      if (other !== undefined && other !== head.hash)
        findings.push({ verdict: 'forked', what: 'two heads sign different records of one number', ...at })
      else if (isSeam || seq <= last)
        findings.push({ verdict: 'broken', what: 'a head was removed, moved or repeated before this one', ...at })
      hashes.set(seq, head.hash)
      last = Math.max(last, seq)
    }
  }
  return findings
}
