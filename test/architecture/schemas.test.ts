// The published JSON Schemas are read back and held against a real run: every file of it fits, and a file that was spoilt
// in any of its fields does not. What is checked is the JSON that is shipped, and not the schema that it was made from.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { createRun } from '../../src/runs/run.ts'
import { catalogSet, schemaId } from '../../src/catalog/set.ts'
import { catalogSchemaNames, misfits, publishedSchema, schemaNames } from '../fixtures/published-schemas.ts'

const fits = (name: string, value: unknown): boolean => misfits(name, value).length === 0

const hash = 'a'.repeat(64)
const kept = { bytes: 3, kept_bytes: 3, sha256: hash }
const entry = { path: 'workspace/a', path_base64: null, kind: 'file', size: 3, mode: 0o644, target: null, kept: true }

/** Files that only a sandbox makes, as they stand in the contract. test/e2e holds real ones against the schemas too. */
const made: Record<string, readonly object[]> = {
  action: [
    {
      number: 1,
      action: 'run',
      input: { argv: ['true'], cwd: null, timeout_ms: null },
      env_names: ['HOME'],
      stdin: null,
      content: null,
      started_at: '2026-01-01T00:00:00.000Z',
      duration_ms: 12,
      ended: { by: 'exit', code: 0 },
      stdout: kept,
      stderr: kept,
      output_sha256: null,
      error: null,
    },
  ],
  changes: [
    {
      by: 'walk',
      complete: false,
      stopped: ['concurrent'],
      changes: [{ ...entry, change: 'created', before_sha256: null, after_sha256: hash }],
    },
  ],
  base: [{ by: 'walk', complete: true, stopped: [], lower: [], entries: [{ ...entry, sha256: hash }] }],
  fork: [
    {
      run_id: 'run_2',
      forked_from: { run_id: 'run_1', seq: 4 },
      event_hash: hash,
      after_action: null,
      forked_at: '2026-01-01T00:00:00.000Z',
      by: 'overlay',
      why: null,
      layers: [
        {
          run_id: 'run_1',
          directory: '/runs/1',
          relative: '../1',
          place: 'workspace',
          unchanged_since: '2026-01-01T00:00:00.000Z',
        },
      ],
    },
  ],
  settings: [
    { policy: { timeoutMs: 1000, network: { mode: 'none' } }, mounts: ['.:/workspace'], env: { NAME: 'value' } },
  ],
}

let place = ''
const written: Record<string, readonly object[]> = {}
beforeAll(async () => {
  place = mkdtempSync(join(tmpdir(), 'glovebox-schemas-'))
  const directory = join(place, 'run')
  const deliverables = [{ path: 'report.md', allow_empty: false }]
  const run = await createRun({ config: {}, prompt: 'Write.', sandboxPath: directory, deliverables, sessionTitle: 'A' })
  await run.transition('running')
  await run.recordSandbox({
    sandbox_id: 'sbx_1',
    backend: 'bwrap',
    backend_version: '0.11.0',
    cwd: '/workspace',
    mounts: [{ guest_path: '/workspace', host_path: '/somewhere', mode: 'rw' }],
    policy: [
      { field: 'pids', value: 256, layer: 'default', source: 'default', ceiling: 512, ceiling_layer: 'default' },
    ],
    enforced: [{ what: 'pids', by: 'cgroup' }],
    not_enforced: [],
    environment: ['HOME'],
    plan_fingerprint: hash,
  })
  writeFileSync(join(directory, 'deliverables', 'report.md'), 'Done.')
  await run.append({ type: 'note', summary: 'It goes on.', data: { deep: [{ value: null }] } })
  await run.transition('completed')
  await run.close()
  const text = (name: string): string => readFileSync(join(directory, name), 'utf8')
  const json = (name: string): object => JSON.parse(text(name)) as object
  written['run'] = [json('run.json')]
  written['session'] = [json('session.json')]
  written['task'] = [parse(text('task.yaml')) as object]
  written['sandbox-manifest'] = [json('sandbox-manifest.json')]
  written['artifact-manifest'] = [json('artifact-manifest.json')]
  written['event'] = text('events.jsonl')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as object)
  Object.assign(written, made)
})
afterAll(() => rmSync(place, { recursive: true, force: true }))

describe('the published schemas', () => {
  it('are there for every file of the layout that has a shape', () => {
    expect(schemaNames.toSorted()).toEqual(Object.keys(written).toSorted())
    expect(written['event']?.length).toBe(5)
  })

  it.each(schemaNames)('%s says what it is: draft, identity and title', (name) => {
    expect(publishedSchema(name)).toMatchObject({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $id: `urn:glovebox:layout:1:${name}`,
      title: expect.stringMatching(/\w/) as string,
      description: expect.stringMatching(/\.$/) as string,
    })
  })

  it.each(catalogSchemaNames)('catalog/%s says what it is, too', (name) => {
    expect(publishedSchema(`catalog/${name}`)).toMatchObject({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $id: schemaId(name),
      title: expect.stringMatching(/\w/) as string,
      description: expect.stringMatching(/\.$/) as string,
    })
  })

  it('of the catalog are those that its set of files names, and one of the whole', () => {
    const named = catalogSet.flatMap(({ schema }) => schema ?? [])
    expect([...new Set([...named, 'catalog'])].toSorted()).toEqual(catalogSchemaNames.toSorted())
  })

  it.each(schemaNames)('%s fits what is written', (name) => {
    for (const value of written[name] ?? []) expect([value, fits(name, value)]).toEqual([value, true])
  })

  it.each(schemaNames)(
    '%s refuses a field too many, and every required field that is missing or of another type',
    (name) => {
      const required = (publishedSchema(name)['required'] ?? []) as readonly string[]
      for (const value of (written[name] ?? []).slice(0, 1)) {
        expect(fits(name, { ...value, more: 1 })).toBe(false)
        for (const field of required) {
          const without = Object.fromEntries(Object.entries(value).filter(([key]) => key !== field))
          expect([field, fits(name, without)]).toEqual([field, false])
          expect([field, fits(name, { ...value, [field]: () => 0 })]).toEqual([field, false])
        }
      }
    },
  )
})
