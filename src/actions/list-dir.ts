import { z } from 'zod'
import { parseGuestPath } from '../paths/guest.ts'
import { defineAction } from './define.ts'
import { directoryField, kindSchema } from './schemas.ts'
import { ignoredDirectories } from './search/ignored.ts'
import { walk, type WalkedEntry } from './walk.ts'

export const listedEntrySchema = z.strictObject({
  path: z.string(),
  name: z.string(),
  kind: kindSchema,
  sizeBytes: z.int().nonnegative(),
  target: z.string().optional(),
})

export const listDir = defineAction({
  name: 'list_dir',
  summary: 'List a directory by name, nested mounts included, a few levels deep if asked for.',
  input: z.strictObject({
    path: directoryField,
    depth: z.int().min(1).max(8).default(1),
    limit: z.int().positive().max(10_000).default(1000),
    includeIgnored: z.boolean().default(false).describe('Also look into .git, node_modules and the like.'),
  }),
  output: z.strictObject({
    path: z.string(),
    entries: z.array(listedEntrySchema),
    truncated: z.boolean(),
    unreadable: z.array(z.string()).describe('Directories below that could not be listed.'),
  }),
  effect: 'read',
  async perform(context, { path: text, depth, limit, includeIgnored }, signal) {
    const path = parseGuestPath(text, context.cwd)
    const entries: z.infer<typeof listedEntrySchema>[] = []
    const closed = includeIgnored ? new Set<string>() : ignoredDirectories
    const options = { maxDepth: depth, maxVisited: limit, closed, signal }
    const { truncated, unreadable } = await walk(context.boundary.files, path, options, (entry) => {
      entries.push(listedEntry(entry))
      return true
    })
    return { path, entries, truncated, unreadable: [...unreadable] }
  },
})

export const listedEntry = (entry: WalkedEntry): z.infer<typeof listedEntrySchema> => ({
  path: entry.path,
  name: entry.name,
  kind: entry.kind,
  sizeBytes: entry.sizeBytes,
  ...(entry.target === undefined ? {} : { target: entry.target }),
})
