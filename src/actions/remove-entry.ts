import { z } from 'zod'
import { GloveboxError } from '../errors/error.ts'
import { parseGuestPath } from '../paths/guest.ts'
import { defineAction } from './define.ts'
import { pathField } from './schemas.ts'

export const removeEntry = defineAction({
  name: 'remove_entry',
  summary: 'Delete a file or directory. Only where the policy allows deletion.',
  input: z.strictObject({ path: pathField, recursive: z.boolean().default(false) }),
  output: z.strictObject({ path: z.string() }),
  effect: 'write',
  async perform(context, input) {
    const path = parseGuestPath(input.path, context.cwd)
    if (!context.policy.effective.delete) {
      throw new GloveboxError(
        'POLICY_DENIED',
        `Cannot remove ${path}: the policy does not allow file actions to delete`,
        {
          hint: 'The operator allows it with `policy: { delete: true }` in glovebox.yaml.',
          facts: { field: 'delete' },
        },
      )
    }
    await context.boundary.files.remove(path, { recursive: input.recursive })
    return { path }
  },
})
