// Input of the library's door, checked by its schema; what is wrong is named by its field.
import type { z } from 'zod'
import { GloveboxError } from '../errors/error.ts'

export function checkShape<Schema extends z.ZodType>(what: string, schema: Schema, value: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const issues = parsed.error.issues
    .slice(0, 5)
    .map((issue) => `${[what, ...issue.path.map(String)].join('.')}: ${issue.message}`)
  throw new GloveboxError('INVALID_INPUT', `Cannot create the sandbox: ${issues.join('; ')}`, {
    hint: 'Correct the named field.',
  })
}
