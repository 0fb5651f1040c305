// The set of files, version 1: what each is for, and the schema that it keeps. docs/catalog.md has the same table.
import type { CatalogIndex } from '../contract/catalog.ts'

interface Entry {
  readonly path: string
  readonly about: string
  /** The name of its schema in schemas/catalog. Absent: it is plain text. */
  readonly schema?: string
}

export const catalogSet: readonly Entry[] = [
  { path: 'README.md', about: 'What these files are' },
  { path: 'index.json', about: 'This list', schema: 'index' },
  { path: 'session.json', about: 'Who am I: sandbox, run, directories', schema: 'session' },
  { path: 'runtime.json', about: 'What is around me, and which limits it really holds', schema: 'runtime' },
  { path: 'tools.json', about: 'The actions that there are, and what each takes', schema: 'tools' },
  { path: 'permissions.json', about: 'What I may do: network, files, secrets, every rule', schema: 'permissions' },
  { path: 'environment.json', about: 'Variables that are set, by name', schema: 'environment' },
  { path: 'vaults.json', about: 'Vaults and their secrets, by name', schema: 'vaults' },
  { path: 'mounts.json', about: 'Directories that are kept, and how', schema: 'mounts' },
  { path: 'now/budget.json', about: 'Limits, what was used of them, and what is left', schema: 'budget' },
  { path: 'now/outcome.json', about: 'How it stands: what runs, what came of the rest', schema: 'outcome' },
  { path: 'now/shells.json', about: 'Open shells, and what each does', schema: 'shells' },
  { path: 'now/history.jsonl', about: 'The last 100 things that were done, a line each', schema: 'deed' },
  { path: 'now/events.jsonl', about: 'The last 200 events, a line each, in order', schema: 'event' },
  { path: 'now/stdout', about: 'The end of what the last command printed' },
  { path: 'now/stderr', about: 'The end of what the last command said in errors' },
]

export const schemaId = (name: string): string => `urn:glovebox:catalog:1:${name}`

export const indexOf = (sandboxId: string): Omit<CatalogIndex, 'catalogVersion' | 'revision'> => ({
  sandboxId,
  files: catalogSet.map(({ path, about, schema }) => ({
    path,
    about,
    schema: schema === undefined ? null : schemaId(schema),
  })),
})

export const readme = (directory: string): string => `# About this sandbox

Everything in ${directory} is written by the host and cannot be changed from inside. null means: not set, not known, or no limit.

| question | file |
| --- | --- |
| Who am I? | session.json, runtime.json |
| What may I do? | permissions.json, mounts.json, tools.json, vaults.json, environment.json |
| What did I do? | now/history.jsonl, now/events.jsonl, now/outcome.json, now/stdout, now/stderr, now/shells.json |
| What is left? | now/budget.json |

now/ is replaced as a whole a moment after something has happened: all files in it are of one moment.
A file's revision rises when its content changes. A command that names this directory finds all that came before it.
`
