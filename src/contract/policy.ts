// Policy as data. A layer is what one party asks for; the effective policy is what holds, with the
// layer that set each value and each ceiling, so that `explain` can say where it came from.
import { z } from 'zod'

const positive = z.int().positive()

export const networkModes = ['none', 'allowlist', 'full'] as const
export type NetworkMode = (typeof networkModes)[number]

/** For whoever wrote the mode alone, as everybody would at first. */
const networkWritten = 'it is written { mode: none }, { mode: full } or { mode: allowlist, allow: [example.org] }'

const networkSchema = z.strictObject(
  {
    mode: z.enum(networkModes),
    /** `host` or `host:port`. An empty list denies everything. */
    allow: z.array(z.string().min(1).max(300)).max(1000).optional(),
  },
  { error: ({ code }) => (code === 'invalid_type' ? networkWritten : undefined) },
)

const environmentName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must be a name of letters, digits and underscores, at most 128')

export const secretName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\/[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/,
    'must be the name of a secret with its vault, like "keys/token"',
  )

const relativeName = z
  .string()
  .min(1)
  .max(1024)
  .refine((text) => !text.startsWith('/') && !text.includes('\0') && !text.split('/').includes('..'), {
    message: 'must be a relative path without ".."',
  })

/** The fields that have a value, a layer and (where marked in policy/fields) a ceiling. */
export const policyValuesSchema = z.strictObject({
  network: networkSchema.optional(),
  timeoutMs: positive.optional(),
  maxStdoutBytes: positive.optional(),
  maxStderrBytes: positive.optional(),
  maxArtifactsBytes: positive.optional(),
  memoryMb: positive.optional(),
  cpuCores: z.number().positive().optional(),
  pids: positive.optional(),
  /** The largest file that a command may write. */
  fileSizeMb: positive.optional(),
  /** Size of the private /tmp, and of /dev/shm. */
  tmpMb: positive.optional(),
  shmMb: positive.optional(),
  /** Names that pass from the operator's environment into the guest's, beside the built-in list. */
  env: z.array(environmentName).max(500).optional(),
  /** Secrets that a command may be given, by vault and name: `keys/token`. */
  secrets: z.array(secretName).max(500).optional(),
  /** May file actions delete? Commands inside writable mounts are not governed by this. */
  delete: z.boolean().optional(),
  /** Names below every writable mount that the guest may neither change nor create. Adds to the built-in list. */
  protect: z.array(relativeName).max(500).optional(),
  /** Guest paths that are hidden: neither readable nor listable. */
  denyRead: z.array(z.string().min(1).max(4096)).max(500).optional(),
})

/** A layer of the operator: it may also move ceilings and drop built-in protections. */
export const operatorPolicySchema = policyValuesSchema.extend({
  ceilings: policyValuesSchema
    .pick({
      network: true,
      timeoutMs: true,
      maxStdoutBytes: true,
      maxStderrBytes: true,
      maxArtifactsBytes: true,
      memoryMb: true,
      cpuCores: true,
      pids: true,
      fileSizeMb: true,
      tmpMb: true,
      shmMb: true,
      secrets: true,
      delete: true,
    })
    .optional(),
  /** Built-in protected names that the operator gives up, for example `.git`. */
  unprotect: z.array(relativeName).max(500).optional(),
})

export type PolicyValues = z.infer<typeof policyValuesSchema>
export type OperatorPolicy = z.infer<typeof operatorPolicySchema>
export type PolicyField = keyof PolicyValues

export const layerNames = ['default', 'settings', 'skill', 'request'] as const
export type LayerName = (typeof layerNames)[number]

export interface PolicyLayer {
  readonly layer: LayerName
  /** Where a person would look: `glovebox.yaml`, `--timeout`, `Sandbox.create`. */
  readonly source: string
  readonly values: OperatorPolicy
}

/** Every value present: what is in force. */
export interface EffectivePolicy {
  readonly network: { readonly mode: NetworkMode; readonly allow: readonly string[] }
  readonly timeoutMs: number
  readonly maxStdoutBytes: number
  readonly maxStderrBytes: number
  readonly maxArtifactsBytes: number
  readonly memoryMb: number
  readonly cpuCores: number
  readonly pids: number
  readonly fileSizeMb: number
  readonly tmpMb: number
  readonly shmMb: number
  readonly env: readonly string[]
  readonly secrets: readonly string[]
  readonly delete: boolean
  readonly protect: readonly string[]
  readonly denyRead: readonly string[]
}

export interface Origin {
  readonly layer: LayerName
  readonly source: string
}

export interface ExplainedField {
  readonly field: PolicyField
  readonly value: unknown
  readonly from: Origin
  /** Absent: the field has no ceiling. */
  readonly ceiling?: { readonly value: unknown; readonly from: Origin }
}

export interface ResolvedPolicy {
  readonly effective: EffectivePolicy
  readonly ceilings: Partial<EffectivePolicy>
  readonly explained: readonly ExplainedField[]
  /** Fields that a person set. A backend that cannot enforce one of these refuses. */
  readonly demanded: ReadonlySet<PolicyField>
}
