// The shape of the settings file and of a policy file. Loaded only when such a file exists: it brings zod and yaml,
// which the start of a plain `exec` must not pay for.
import { LineCounter, isMap, isNode, isScalar, parseDocument, type Document } from 'yaml'
import { z } from 'zod'
import { operatorPolicySchema, type OperatorPolicy } from '../contract/policy.ts'
import { idSchema } from '../contract/run.ts'
import { GloveboxError } from '../errors/error.ts'
import { didYouMean } from '../errors/suggest.ts'
import { modelOptionsSchema } from '../executors/model/options.ts'
import { runtimeNames } from '../paths/native/runtime.ts'
import { mountModes } from './mount-text.ts'
import { layoutNames } from './pool/layout.ts'
import type { SettingsText } from './settings-file.ts'

const mountSchema = z.strictObject({
  guestPath: z.string().min(1),
  hostPath: z.string().min(1),
  mode: z.enum(mountModes).optional(),
})

const executorSchema = z.strictObject({
  /** Default: `command` if there is one, else `model` if the settings describe one. */
  kind: z.enum(['command', 'model']).optional(),
  /** What runs inside, word by word; no shell reads it. A command on the command line takes its place. */
  command: z.array(z.string()).min(1).max(1000).optional(),
})

const deliverableSchema = z.strictObject({
  path: z.string().min(1).max(4096),
  /** An empty file counts too. */
  allowEmpty: z.boolean().optional(),
})

/** What concerns `glovebox run` alone. */
const runSettings = {
  executor: executorSchema.optional(),
  model: modelOptionsSchema.optional(),
  /** Files below /deliverables without which a run fails. */
  deliverables: z
    .array(z.union([z.string().min(1).max(4096), deliverableSchema]))
    .max(1000)
    .optional(),
  /** Files and directories of the host that a run finds copied into its workspace. */
  inputs: z.array(z.string().min(1).max(4096)).max(1000).optional(),
  /** A finished run waits until a person approves it. */
  review: z.boolean().optional(),
  /** A name for this configuration, kept as `profile_id`. */
  profile: idSchema.optional(),
  /** Of the task, for people. */
  title: z.string().min(1).max(500).optional(),
}

/** What concerns execs of `glovebox serve` alone. */
const sandboxSettings = z.strictObject({
  /** What kind of host the paths are of. */
  runtime: z.enum(runtimeNames).optional(),
  /** Where `projects/` lies. Default: `workspace` below the server's data. */
  workspace_root: z.string().min(1).optional(),
  workspace_root_win: z.string().min(1).optional(),
  workspace_root_wsl: z.string().min(1).optional(),
  max_concurrent_execs: z.int().positive().max(1024).optional(),
  max_queued_execs: z.int().positive().max(100_000).optional(),
  max_queued_execs_per_project: z.int().positive().max(100_000).optional(),
  /** What one project may have in inputs/. Default: 1 GiB, in 20,000 files. */
  max_input_bytes: z.int().positive().max(Number.MAX_SAFE_INTEGER).optional(),
  max_input_files: z.int().positive().max(100_000_000).optional(),
})

/** Sandboxes that are kept for keys: those of `glovebox serve`, and of the library's provider. */
const poolSettings = z.strictObject({
  /** A backend, or `module#Export` for a provider of the operator's own. */
  use: z.string().min(1).max(1000).optional(),
  /** For docker. */
  image: z.string().min(1).max(512).optional(),
  /** Seconds without use after which a sandbox gives back all but its files; 0: never. */
  idle_timeout: z.number().nonnegative().max(2_000_000).optional(),
  /** Seconds after which a process that gives no sign of life has lost its sandboxes to others. Default: 30. */
  lease_timeout: z.number().min(1).max(3600).optional(),
  /** How many may be alive at one time. */
  replicas: z.int().positive().max(100_000).optional(),
  /** How many are made ahead of their use. */
  warm: z.int().nonnegative().max(1000).optional(),
  layout: z.enum(layoutNames).optional(),
  /** Seen as /mnt/skills, read-only. */
  skills: z.string().min(1).max(4096).optional(),
  mounts: z.array(z.union([z.string(), mountSchema])).optional(),
  /** Directories below which callers may ask for mounts. Default: none. */
  mount_roots: z.array(z.string().min(1).max(4096)).max(100).optional(),
  /** By name: directories that callers may have mounted, with `POST /sandboxes/{id}/provision`. */
  offered_mounts: z
    .record(
      z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'must be the name of a mount'),
      z.strictObject({
        hostPath: z.string().min(1).max(4096),
        /** Default: ro. */
        mode: z.enum(['ro', 'rw']).optional(),
        /** Default: every project. */
        projects: z.array(z.string().min(1).max(200)).max(1000).optional(),
      }),
    )
    .optional(),
  /** `$NAME` is taken from the operator's environment; `$$` is a dollar. */
  environment: z.record(z.string(), z.string()).optional(),
  /** A Glovebox server that holds the sandboxes in place of this host. */
  provisioner_url: z.url({ protocol: /^https?$/ }).optional(),
})

const vaultName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'must be the name of a vault')
const secretPart = z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/, 'must be the name of a secret')

/** Where the values of a vault come from: one of the three. */
const vaultSchema = z
  .strictObject({
    /** Each file in it is a secret under its own name. */
    directory: z.string().min(1).max(4096).optional(),
    /** Names of the operator's environment. */
    environment: z.array(secretPart).min(1).max(500).optional(),
    /** By the secret's name: a program by its whole path, word by word, that prints the value. It runs on the host. */
    command: z.record(secretPart, z.tuple([z.string().min(1)], z.string())).optional(),
  })
  .refine((vault) => Object.values(vault).filter((source) => source !== undefined).length === 1, {
    message: 'must have one of directory, environment and command',
  })

/** A file that is named with --vaults holds just this. */
const vaultsSchema = z.record(vaultName, vaultSchema)

export const settingsSchema = z.strictObject({
  backend: z.string().min(1).optional(),
  /** For the backend docker. Default: the image glovebox/sandbox, and the daemon's own runtime; runsc is gVisor. */
  docker: z
    .strictObject({
      image: z.string().min(1).max(512).optional(),
      runtime: z.string().min(1).max(64).optional(),
    })
    .optional(),
  /** Either as on the command line, or as a map with guestPath, hostPath and mode. */
  mounts: z.array(z.union([z.string(), mountSchema])).optional(),
  policy: operatorPolicySchema.optional(),
  /** By name. Which of their secrets a command may have is said in policy.secrets. */
  vaults: vaultsSchema.optional(),
  env: z.record(z.string(), z.string()).optional(),
  sandbox: sandboxSettings.optional(),
  pool: poolSettings.optional(),
  ...runSettings,
})

export type SettingsContent = z.infer<typeof settingsSchema>
export type VaultsContent = z.infer<typeof vaultsSchema>

export const parseSettings = (file: SettingsText): SettingsContent => parse(file, settingsSchema)

export const parseVaults = (file: SettingsText): VaultsContent => parse(file, vaultsSchema)

export const parsePolicy = (file: SettingsText): OperatorPolicy => parse(file, operatorPolicySchema)

interface Parsed {
  readonly file: SettingsText
  readonly document: Document.Parsed
  readonly lines: LineCounter
}

function parse<Schema extends z.ZodType>(file: SettingsText, schema: Schema): z.infer<Schema> {
  const parsed = parseYaml(file)
  const result = schema.safeParse(toPlain(parsed))
  if (result.success) return result.data
  const issue = mostTelling(result.error.issues)
  throw describeIssue(parsed, schema, issue)
}

function parseYaml(file: SettingsText): Parsed {
  const lines = new LineCounter()
  const document = parseDocument(file.text, { lineCounter: lines, prettyErrors: false })
  // A warning (an unknown tag, say) means that the text does not say what its writer thought it says.
  const fault = document.errors[0] ?? document.warnings[0]
  const parsed = { file, document, lines }
  if (fault !== undefined) {
    throw refuse(parsed, {
      cause: firstLine(fault.message),
      offset: fault.pos[0],
      hint: 'Mend the YAML at that place.',
    })
  }
  if (document.contents === null) {
    // An empty file is also what a power cut leaves behind, and running without its limits would be the wrong guess.
    throw refuse(parsed, { cause: 'it is empty', offset: 0, hint: 'Write {} for no settings, or remove the file.' })
  }
  return parsed
}

function toPlain(parsed: Parsed): unknown {
  try {
    return parsed.document.toJS({ maxAliasCount: 50 })
  } catch (cause) {
    const reason = cause instanceof Error ? firstLine(cause.message) : 'it cannot be expanded'
    throw refuse(parsed, { cause: reason, offset: 0, hint: 'Write the values out instead of using aliases.' })
  }
}

type Issue = z.core.$ZodIssue

/** An unknown key is usually the cause of what else is wrong: a misspelt name also leaves the right one missing. */
function mostTelling(issues: readonly Issue[]): Issue {
  const flat = issues.flatMap(flatten)
  const chosen = flat.find((issue) => issue.code === 'unrecognized_keys') ?? flat[0]
  if (chosen === undefined) throw new GloveboxError('INTERNAL', 'Cannot read the settings: the schema gave no reason.')
  return chosen
}

/** Of a union's branches the last speaks: it is the map, and the plain text before it has nothing more to say. */
function flatten(issue: Issue): readonly Issue[] {
  // Of a name that cannot be one, the reason stands inside.
  if (issue.code === 'invalid_key') return issue.issues.map((inner) => ({ ...inner, path: issue.path }))
  if (issue.code !== 'invalid_union') return [issue]
  const branch = issue.errors.at(-1) ?? []
  return branch.flatMap(flatten).map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }))
}

function describeIssue(parsed: Parsed, schema: z.ZodType, issue: Issue): GloveboxError {
  const where = issue.path.map(String).join('.')
  if (issue.code === 'unrecognized_keys') {
    const key = issue.keys[0] ?? ''
    const known = knownKeys(schema, issue.path)
    return refuse(parsed, {
      cause: `"${[where, key].filter((part) => part !== '').join('.')}" is not a setting`,
      offset: offsetOfKey(parsed, issue.path, key),
      hint: schema === operatorPolicySchema && key === 'policy' ? policyNotSettings : didYouMean(key, known),
    })
  }
  return refuse(parsed, {
    cause: where === '' ? issue.message : `"${where}": ${issue.message}`,
    offset: offsetOfValue(parsed, issue.path),
    hint: hintFor(issue),
  })
}

const policyNotSettings =
  'A policy file holds the fields that stand below "policy:" in glovebox.yaml, without that line.'

function hintFor(issue: Issue): string {
  if (issue.code === 'invalid_value') return `It must be one of: ${issue.values.map(String).join(', ')}.`
  if (issue.code === 'invalid_type' && issue.expected === 'string') return 'Put the value into quotes.'
  return 'docs/reference/policy.md has the fields of a policy as they are written; `glovebox explain` shows what is in force.'
}

function knownKeys(schema: z.ZodType, path: readonly PropertyKey[]): readonly string[] {
  const inner = unwrap(schema)
  const [first, ...rest] = path
  if (first === undefined) return inner instanceof z.ZodObject ? Object.keys(inner.shape) : []
  if (inner instanceof z.ZodArray) return knownKeys(inner.element as z.ZodType, rest)
  if (!(inner instanceof z.ZodObject)) return []
  const shape = inner.shape as Readonly<Record<string, z.ZodType>>
  const next = shape[String(first)]
  return next === undefined ? [] : knownKeys(next, rest)
}

function unwrap(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional) return unwrap(schema.unwrap() as z.ZodType)
  if (schema instanceof z.ZodUnion) return unwrap(schema.options.at(-1) as z.ZodType)
  return schema
}

function offsetOfKey(parsed: Parsed, path: readonly PropertyKey[], key: string): number {
  const map = path.length === 0 ? parsed.document.contents : parsed.document.getIn(path, true)
  if (!isMap(map)) return 0
  const pair = map.items.find((item) => isScalar(item.key) && String(item.key.value) === key)
  return isScalar(pair?.key) ? (pair.key.range?.[0] ?? 0) : 0
}

function offsetOfValue(parsed: Parsed, path: readonly PropertyKey[]): number {
  for (let depth = path.length; depth > 0; depth--) {
    const node = parsed.document.getIn(path.slice(0, depth), true)
    if (isNode(node) && node.range) return node.range[0]
  }
  return 0
}

const firstLine = (text: string): string => (text.split('\n')[0] ?? text).replace(/[.:]$/, '')

interface Fault {
  readonly cause: string
  readonly offset: number
  readonly hint: string
}

function refuse(parsed: Parsed, fault: Fault): GloveboxError {
  const { line, col } = parsed.lines.linePos(fault.offset)
  const place = { line: Math.max(1, line), column: Math.max(1, col) }
  const message = `Cannot use the ${parsed.file.kind ?? 'settings'}: line ${place.line}, column ${place.column}: ${fault.cause}.`
  return new GloveboxError('INVALID_SETTINGS', message, {
    hint: fault.hint,
    operatorDetail: `${parsed.file.path}:${place.line}:${place.column}`,
    facts: place,
  })
}
