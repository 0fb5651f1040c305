import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { artifactManifestSchema, type Artifact, type ArtifactManifest } from '../../contract/artifact.ts'
import { artifactManifest, emptyManifest } from '../../runs/artifacts.ts'
import { createRun } from '../../runs/run.ts'
import { readArtifactManifest, recordedArtifact } from './artifact-manifest.ts'

let place: string
let directory: string
const file = (): string => join(directory, 'artifact-manifest.json')
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'glovebox-artifacts-'))
  directory = join(place, 'run')
})
afterEach(() => rmSync(place, { recursive: true, force: true }))

const names = ['a', 'b"c', 'new\nline', 'ü€😀', '\\']
async function endedRun(): Promise<ArtifactManifest> {
  const run = await createRun({ sandboxPath: directory, prompt: 'x', config: {} })
  for (const name of names) writeFileSync(join(directory, 'workspace', name), name)
  await run.transition('running')
  await run.transition('completed')
  await run.close()
  return artifactManifestSchema.parse(JSON.parse(readFileSync(file(), 'utf8')))
}
const entry = (path: string): Artifact => ({
  path,
  path_base64: null,
  kind: 'file',
  role: 'workspace',
  size: 1,
  sha256: 'a'.repeat(64),
  mode: 0o644,
  target: null,
  skipped: null,
})
/** As a run writes it. */
const write = async (change: Partial<ArtifactManifest>): Promise<void> => {
  rmSync(directory, { recursive: true, force: true })
  const run = await createRun({ sandboxPath: directory, prompt: 'x', config: {} })
  await run.close()
  const trees = { workspace: join(directory, 'workspace'), deliverables: join(directory, 'deliverables') }
  const manifest = { ...(await artifactManifest({ ...trees, runId: 'run_1' })), ...change }
  writeFileSync(file(), `${JSON.stringify(manifest, null, 1)}\n`)
}

/** How often others had their turn meanwhile. */
async function turnsDuring(work: () => unknown): Promise<number> {
  let turns = 0
  let isOver = false
  const turn = (): void => {
    turns++
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  await work()
  isOver = true
  return turns
}

describe('the list of the files of a run', () => {
  it('is read as the run has written it', async () => {
    const recorded = await endedRun()
    expect(recorded.entries.length).toBeGreaterThanOrEqual(names.length)
    expect(await readArtifactManifest(directory)).toEqual(recorded)
    for (const each of recorded.entries) expect(await recordedArtifact(directory, each.path)).toEqual(each)
    expect(await recordedArtifact(directory, 'workspace/none')).toBeNull()
  })

  it('of 100,000 files is read, and searched for one, in pieces', async () => {
    const entries = Array.from({ length: 100_000 }, (_, at) => entry(`workspace/file-${at}`))
    await write({ entries })
    expect(
      await turnsDuring(async () => expect((await readArtifactManifest(directory))?.entries).toEqual(entries)),
    ).toBeGreaterThan(10)
    const search = async (): Promise<void> =>
      expect(await recordedArtifact(directory, 'workspace/file-99999')).toEqual(entries.at(-1))
    expect(await turnsDuring(search)).toBeGreaterThan(10)
    // Control: to read all of it at once gives nobody a turn.
    expect(await turnsDuring(() => artifactManifestSchema.parse(JSON.parse(readFileSync(file(), 'utf8'))))).toBe(0)
  })

  it('says nothing of what it left out, nor before it was recorded', async () => {
    await write({ complete: false, stopped: ['entries'], entries: [entry('workspace/a')] })
    expect(await recordedArtifact(directory, 'workspace/a')).toEqual(entry('workspace/a'))
    expect(await recordedArtifact(directory, 'workspace/b')).toBeUndefined()
    await write(emptyManifest('run_1', 'not_recorded', null))
    expect([await readArtifactManifest(directory), await recordedArtifact(directory, 'workspace/a')]).toEqual([
      undefined,
      undefined,
    ])
  })

  it('that is missing or damaged is none, and no file is compared with it', async () => {
    await write({ entries: [entry('workspace/a')] })
    writeFileSync(file(), readFileSync(file(), 'utf8').slice(0, -3))
    expect(await readArtifactManifest(directory)).toBeUndefined()
    await expect(recordedArtifact(directory, 'workspace/a')).rejects.toMatchObject({ code: 'RECORD_DAMAGED' })
    rmSync(file())
    expect(await readArtifactManifest(directory)).toBeUndefined()
    await expect(recordedArtifact(directory, 'workspace/a')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})
