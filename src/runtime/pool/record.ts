// sandbox.json: all that a later process must know to open a member again under the same id, with the same wishes. It lies beside
// the member's files and outside its mounts. The policy in it is what was asked for: what holds is decided anew at each opening,
// under the operator's present ceilings.
import { renameSync, writeFileSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { z } from 'zod'
import { isSandboxId, type SandboxId } from '../../contract/ids.ts'
import { policyValuesSchema } from '../../contract/policy.ts'
import { GloveboxError } from '../../errors/error.ts'
import { readIfThere } from '../../paths/if-there.ts'
import { isErrno } from '../../paths/refusal.ts'
import { released } from '../../pool/refusals.ts'
import { replaceFile } from '../../runs/replace-file.ts'
import { mountModes } from '../mount-text.ts'
import { fillBlank } from './blanks.ts'
import { layoutNames } from './layout.ts'

/** What becomes of a member when its time is over. */
export const endings = ['destroy', 'pause'] as const
export type Ending = (typeof endings)[number]

const timestamp = z.iso.datetime()
const metadataSchema = z.record(z.string().min(1).max(200), z.string().max(4096))

export const memberRecordSchema = z.strictObject({
  version: z.literal(1),
  id: z.custom<SandboxId>((value) => typeof value === 'string' && isSandboxId(value), 'must be an id of a sandbox'),
  project: z.string(),
  /** Null: it was asked for without one, and is found by its id alone. */
  key: z.string().nullable(),
  token_id: z.string(),
  name: z.string().nullable(),
  metadata: metadataSchema,
  backend: z.string(),
  layout: z.enum(layoutNames),
  policy: policyValuesSchema.nullable(),
  env: z.record(z.string(), z.string()),
  cwd: z.string().nullable(),
  mounts: z.array(z.strictObject({ guestPath: z.string(), hostPath: z.string(), mode: z.enum(mountModes).optional() })),
  /** What its users asked for since, by the operator's names: what he offers no more is not there the next time. */
  provisioned: z
    .strictObject({
      mounts: z.array(z.strictObject({ name: z.string(), guestPath: z.string(), mode: z.enum(['rw', 'ro']) })),
      /** Of the operator's, those that they have put away. */
      without_vaults: z.array(z.string()),
    })
    .optional(),
  /** Snapshots that are seen through its files, nearest first. */
  layers: z.array(z.string()),
  /** A snapshot that is being made of its files: a crash is made good by whoever opens it next. */
  snapshotting: z.string().nullable(),
  created_at: timestamp,
  expires_at: timestamp,
  /** What its life is when it begins anew. */
  life_ms: z.int().positive(),
  at_end: z.enum(endings),
  /** Null while it is not paused. */
  paused_at: timestamp.nullable(),
})
export type MemberRecord = z.infer<typeof memberRecordSchema>

export const recordFile = 'sandbox.json'

/** Undefined if there is none. One that cannot be read is told as damaged, and never guessed at. */
export function readRecord(directory: string): MemberRecord | undefined {
  const text = readIfThere(join(directory, recordFile))
  if (text === undefined) return undefined
  const parsed = memberRecordSchema.safeParse(parseOrUndefined(text))
  if (parsed.success) return parsed.data
  throw new GloveboxError('RECORD_DAMAGED', 'Cannot open the sandbox: its record is damaged', {
    hint: 'Its files are untouched. `glovebox prune --damaged` removes it, once nothing in it is needed.',
    operatorDetail: join(directory, recordFile),
  })
}

/** A new member's first record. Whole or not at all; a power cut may take it, as it may take the files beside it. `blank`: a file that
 * may become it. */
export function writeFirstRecord(
  directory: string,
  record: MemberRecord,
  { blank }: { readonly blank?: string } = {},
): void {
  const [place, text] = [join(directory, recordFile), textOf(record)]
  if (blank !== undefined && fillBlank(blank, text)) return renameSync(blank, place)
  const temporary = join(directory, `.${recordFile}.${randomBytes(12).toString('hex')}.tmp`)
  writeFileSync(temporary, text, { mode: 0o600, flag: 'wx' })
  renameSync(temporary, place)
}

/** What a caller was promised (a later end, a pause) is on the disk before he is told. SANDBOX_GONE where somebody has destroyed it meanwhile,
 * and its directory with it. */
export async function replaceRecord(directory: string, record: MemberRecord): Promise<void> {
  try {
    await replaceFile(join(directory, recordFile), textOf(record), { mode: 0o600 })
  } catch (error) {
    throw isErrno(error, 'ENOENT') ? released() : error
  }
}

const textOf = (record: MemberRecord): string => `${JSON.stringify(record, null, 2)}\n`

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
