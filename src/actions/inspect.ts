import { z } from 'zod'
import { capabilityNames } from '../contract/capability.ts'
import { layerNames, policyValuesSchema } from '../contract/policy.ts'
import { defineAction } from './define.ts'
import { vaultSchema } from './schemas.ts'

const capability = z.enum(capabilityNames)
const origin = z.strictObject({ layer: z.enum(layerNames), source: z.string() })

const explainedField = z.strictObject({
  field: policyValuesSchema.keyof(),
  value: z.unknown(),
  from: origin,
  ceiling: z.strictObject({ value: z.unknown(), from: origin }).optional(),
})

export const inspect = defineAction({
  name: 'inspect',
  summary: 'Tell about the sandbox itself: mounts, policy, and which limits are enforced and which are not.',
  input: z.strictObject({}),
  output: z.strictObject({
    id: z.string(),
    backend: z.string(),
    sandboxed: z.boolean(),
    cwd: z.string(),
    networkMode: z.string(),
    homeDir: z.string(),
    tmpDir: z.string(),
    cacheDir: z.string(),
    mounts: z.array(z.strictObject({ guestPath: z.string(), mode: z.enum(['rw', 'ro', 'vault']) })),
    vaults: z.array(vaultSchema),
    policy: z.array(explainedField),
    enforced: z.array(z.strictObject({ what: capability, by: z.string() })),
    notEnforced: z.array(z.strictObject({ what: capability, why: z.string() })),
    environment: z.array(z.string()),
    catalog: z.strictObject({ guestPath: z.string(), version: z.int().positive() }).nullable(),
  }),
  effect: 'read',
  async perform(context) {
    const told = context.describe()
    return {
      ...told,
      mounts: [...told.mounts],
      vaults: told.vaults.map((vault) => ({ ...vault, secrets: [...vault.secrets] })),
      policy: [...told.policy],
      enforced: [...told.enforced],
      notEnforced: [...told.notEnforced],
      environment: [...told.environment],
    }
  },
})
