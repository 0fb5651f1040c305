import { z } from 'zod'
import { parseGuestPath } from '../paths/guest.ts'
import { defineAction } from './define.ts'
import { pathField } from './schemas.ts'

export const mkdir = defineAction({
  name: 'mkdir',
  summary: 'Make a directory, with its parents. One that is already there is no error.',
  input: z.strictObject({ path: pathField, parents: z.boolean().default(true) }),
  output: z.strictObject({ path: z.string(), created: z.boolean() }),
  effect: 'write',
  async perform(context, input) {
    const path = parseGuestPath(input.path, context.cwd)
    const { created } = await context.boundary.files.mkdir(path, { parents: input.parents })
    return { path, created }
  },
})
