import { z } from 'zod'
import { parseGuestPath } from '../paths/guest.ts'
import { defineAction } from './define.ts'
import { pathField } from './schemas.ts'

export const renameEntry = defineAction({
  name: 'rename_entry',
  summary: 'Move a file or directory to another name.',
  input: z.strictObject({ from: pathField, to: pathField }),
  output: z.strictObject({ from: z.string(), to: z.string() }),
  effect: 'write',
  async perform(context, input) {
    const from = parseGuestPath(input.from, context.cwd)
    const to = parseGuestPath(input.to, context.cwd)
    await context.boundary.files.rename(from, to)
    return { from, to }
  },
})
