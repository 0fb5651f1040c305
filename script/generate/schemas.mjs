// JSON Schemas of the files that a run directory holds, for readers in other languages. Each is made from the schema with
// which Glovebox itself writes and checks the file.

/** `name` gives the file; `about` is its description. The layout's version is part of the identity. */
const published = [
  ['run', 'runRecordSchema', 'run.json', 'A run as it stands: the fold of its events.'],
  ['session', 'sessionRecordSchema', 'session.json', 'The thread of work that the run belongs to.'],
  ['task', 'taskRecordSchema', 'task.yaml', 'What the run was asked to do, and what it owes.'],
  ['settings', 'settingsSchema', 'glovebox.yaml', 'Settings of the operator. A run keeps its own in config.yaml.'],
  ['sandbox-manifest', 'sandboxManifestSchema', 'sandbox-manifest.json', 'What the boundary of the run was.'],
  [
    'artifact-manifest',
    'artifactManifestSchema',
    'artifact-manifest.json',
    'Every file that came out of the run, with its hash.',
  ],
  ['event', 'eventSchema', 'a line of events.jsonl', 'One event. Ordered by seq, chained by prev_hash and hash.'],
  ['action', 'recordedActionSchema', 'logs/actions/*/action.json', 'One action: what was asked, and what came of it.'],
  ['changes', 'changeSetSchema', 'logs/actions/*/changes.json', 'What one action changed in the trees of the run.'],
  ['base', 'startStateSchema', 'archive/base.json', 'The trees of the run before its first action.'],
  ['fork', 'forkRecordSchema', 'archive/fork.json', 'With what the workspace of a forked run began.'],
]

/** `[path, text]` of each. */
export const schemaFiles = (sources) =>
  published.map(([name, schema, title, description]) => {
    if (sources[schema] === undefined) throw new Error(`script/generate/schemas.mjs: there is no ${schema}`)
    // What a person writes may leave defaults out; what Glovebox writes never does.
    const { $schema, ...rest } = sources.z.toJSONSchema(sources[schema], { io: 'input', target: 'draft-2020-12' })
    const $id = `urn:glovebox:layout:${sources.layoutVersion}:${name}`
    return [
      `schemas/${name}.schema.json`,
      `${JSON.stringify({ $schema, $id, title, description, ...rest }, null, 2)}\n`,
    ]
  })
