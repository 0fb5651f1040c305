// A run that left very many files: whoever asks for it, for its list or for one of them holds up nobody else. And what is served of a list
// that is not complete.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { artifactManifestSchema, type Artifact, type ArtifactManifest } from '../../src/contract/artifact.ts'
import { judgeHeard } from '../fixtures/server-contract.ts'
import { watchLag } from './server-lag.ts'
import { codeOf, startServer, type ServerGround } from './server-ground.ts'
import { waitForRun } from './server-objects.ts'

let ground: ServerGround
beforeAll(async () => {
  ground = await startServer()
})
afterAll(async () => {
  await ground.stop()
})

interface Ended {
  readonly runId: string
  readonly place: string
  readonly manifest: ArtifactManifest
}

async function ended(script: string): Promise<Ended> {
  const body = { prompt: 'Do it.', command: ['sh', '-c', script] }
  const runId = String((await ground.call('POST', '/runs', { body })).at('run_id'))
  await waitForRun(ground, runId, 'completed')
  const place = join(ground.data, 'runs', 'default', runId, 'artifact-manifest.json')
  return { runId, place, manifest: artifactManifestSchema.parse(JSON.parse(readFileSync(place, 'utf8'))) }
}
/** As the run writes it. */
const write = (place: string, manifest: ArtifactManifest): void =>
  writeFileSync(place, `${JSON.stringify(manifest, null, 1)}\n`)

/** What it costs to read all of it at once. */
function atOnceMs(place: string): number {
  const before = process.cpuUsage()
  artifactManifestSchema.parse(JSON.parse(readFileSync(place, 'utf8')))
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

describe('a run that left 100,000 files', () => {
  it('is told, listed and served while others have their turns', async () => {
    const { runId, place, manifest } = await ended('echo small > /workspace/zzz')
    const one = manifest.entries.find(({ path }) => path === 'workspace/zzz')!
    const others = Array.from({ length: 100_000 }, (_, at): Artifact => ({ ...one, path: `workspace/${at}` }))
    write(place, { ...manifest, entries: [...others, ...manifest.entries] })
    const mostMs = atOnceMs(place) / 2
    await using watch = watchLag(ground)
    await watch.ask()
    const asks: readonly (readonly [path: string, check: (text: string) => void])[] = [
      [`/runs/${runId}`, (text) => expect(JSON.parse(text)).toMatchObject({ integrity: expect.any(String) as string })],
      [`/runs/${runId}/artifacts/workspace/zzz`, (text) => expect(text).toBe('small\n')],
      [
        `/runs/${runId}/artifacts`,
        (text) =>
          expect((JSON.parse(text) as ArtifactManifest).entries).toHaveLength(others.length + manifest.entries.length),
      ],
    ]
    for (const [path, check] of asks) {
      const done = watch.begin(`GET ${path}`)
      const answer = await fetch(`${ground.url}${path}`, { headers: { authorization: `Bearer ${ground.token}` } })
      const text = await answer.text()
      done(text)
      expect(answer.status).toBe(200)
      const heard = { status: answer.status, text, header: (name: string) => answer.headers.get(name) }
      expect(judgeHeard(ground.contract, { method: 'GET', path }, heard)).toEqual([])
      check(text)
      const lag = await watch.ask()
      expect(lag.ms, lag.during.join(', ')).toBeLessThan(mostMs)
    }
  })

  it('is listed as it was recorded', async () => {
    const { runId, manifest } = await ended('for n in $(seq 600); do echo $n > /workspace/$n; done')
    const listed = await ground.call('GET', `/runs/${runId}/artifacts`)
    expect(JSON.parse(listed.text)).toEqual({ ...manifest, recorded: true })
    const head = await ground.call('HEAD', `/runs/${runId}/artifacts`)
    expect([head.status, head.headers['content-type'], head.text]).toEqual([200, 'application/json', ''])
  })
})

describe('a file of a run', () => {
  it('that was recorded is served only as it was, and one that the record left out or did not hash as it is', async () => {
    const { runId, place, manifest } = await ended(
      'for name in kept left unhashed; do echo $name > /workspace/$name; done',
    )
    const workspace = join(place, '..', 'workspace')
    for (const name of ['kept', 'left', 'unhashed']) writeFileSync(join(workspace, name), 'changed')
    const get = (name: string) => ground.call('GET', `/runs/${runId}/artifacts/workspace/${name}`)
    for (const name of ['kept', 'left', 'unhashed']) expect(codeOf(await get(name))).toBe('ARTIFACT_CHANGED')
    const entries = manifest.entries
      .filter(({ path }) => path !== 'workspace/left')
      .map((entry): Artifact =>
        entry.path === 'workspace/unhashed' ? { ...entry, sha256: null, skipped: 'bytes' } : entry,
      )
    write(place, { ...manifest, complete: false, stopped: ['bytes', 'entries'], entries })
    expect([codeOf(await get('kept')), (await get('left')).text, (await get('unhashed')).text]).toEqual([
      'ARTIFACT_CHANGED',
      'changed',
      'changed',
    ])
    // Of one that leaves nothing out, what it does not name came later.
    write(place, { ...manifest, entries })
    expect(codeOf(await get('left'))).toBe('ARTIFACT_CHANGED')
    writeFileSync(place, readFileSync(place, 'utf8').slice(0, -4))
    for (const name of ['kept', 'left']) expect(codeOf(await get(name))).toBe('RECORD_DAMAGED')
    expect((await ground.call('GET', `/runs/${runId}/artifacts`)).at('recorded')).toBe(false)
  })
})
