import { z } from 'zod'
import { parseGuestPath } from '../paths/guest.ts'
import { defineAction } from './define.ts'
import { listedEntry, listedEntrySchema } from './list-dir.ts'
import { directoryField, kindSchema } from './schemas.ts'
import { ignoredDirectories } from './search/ignored.ts'
import { matchesWildcard } from './text/wildcard.ts'
import { walk } from './walk.ts'

/** Enough for a large project; a walk of more is told as truncated. */
const maxVisited = 200_000

export const findEntries = defineAction({
  name: 'find_entries',
  summary: 'Find files and directories by name: a part of the name, or a pattern with * and ?.',
  input: z.strictObject({
    path: directoryField,
    name: z.string().min(1).max(255).describe('Without * or ?: a part of the name. With them: the whole name.'),
    kind: kindSchema.optional(),
    caseSensitive: z.boolean().default(false),
    maxDepth: z.int().min(1).max(64).default(32),
    maxResults: z.int().positive().max(1000).default(200),
    includeIgnored: z.boolean().default(false).describe('Also look into .git, node_modules and the like.'),
  }),
  output: z.strictObject({
    path: z.string(),
    entries: z.array(listedEntrySchema),
    truncated: z.boolean(),
    unreadable: z.array(z.string()),
  }),
  effect: 'read',
  async perform(context, input, signal) {
    const path = parseGuestPath(input.path, context.cwd)
    const matches = nameMatcher(input)
    const entries: z.infer<typeof listedEntrySchema>[] = []
    const closed = input.includeIgnored ? new Set<string>() : ignoredDirectories
    const options = { maxDepth: input.maxDepth, maxVisited, closed, signal }
    const { truncated, unreadable } = await walk(context.boundary.files, path, options, (entry) => {
      if ((input.kind !== undefined && entry.kind !== input.kind) || !matches(entry.name)) return true
      if (entries.length === input.maxResults) return false
      entries.push(listedEntry(entry))
      return true
    })
    return { path, entries, truncated, unreadable: [...unreadable] }
  },
})

function nameMatcher(input: { readonly name: string; readonly caseSensitive: boolean }): (name: string) => boolean {
  const fold = (text: string): string => (input.caseSensitive ? text : text.toLowerCase())
  const sought = fold(input.name)
  if (/[*?]/.test(sought)) return (name) => matchesWildcard(fold(name), sought)
  return (name) => fold(name).includes(sought)
}
