import { z } from 'zod'
import { parseGuestPath } from '../paths/guest.ts'
import { defineAction } from './define.ts'
import { pathField, statSchema } from './schemas.ts'

export const stat = defineAction({
  name: 'stat',
  summary: 'Tell kind, size and time of one entry. A symlink is shown, not followed.',
  input: z.strictObject({ path: pathField }),
  output: statSchema,
  effect: 'read',
  perform: (context, input) => context.boundary.files.stat(parseGuestPath(input.path, context.cwd)),
})
