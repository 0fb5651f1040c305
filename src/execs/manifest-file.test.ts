import { readFileSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { execManifestSchema, type ExecArtifact, type ExecManifest } from '../contract/exec-record.ts'
import type { ExecRow } from '../contract/store.ts'
import { makeGround, type Ground } from './ground.test-support.ts'
import { recordPlace } from './layout.ts'
import { manifestText, readManifest } from './manifest-file.ts'
import { writeRecord } from './record.ts'

let ground: Ground
let row: ExecRow
let place: string
beforeEach(() => {
  ground = makeGround()
  row = ground.exec()
  place = recordPlace(ground.root, row, 'manifest.json')
})
afterEach(() => ground.remove())

const hard = ['a', 'b"c', '\n    },\n', '\n      "path": "a",', ']\n}\n', '{', '\\', 'ü€😀', ' ']
const entry = (path: string): ExecArtifact => ({
  path,
  path_base64: null,
  kind: 'file',
  size: 1,
  sha256: 'a'.repeat(64),
  mode: 0o644,
  target: null,
  skipped: null,
})
const manifestOf = (count: number): ExecManifest => ({
  exec_id: row.exec_id,
  recorded_at: new Date().toISOString(),
  complete: true,
  over_limit: false,
  total_bytes: 0,
  entries: Array.from({ length: count }, (_, index) => entry(`${hard[index % hard.length]}${index}`)),
})
const write = (manifest: ExecManifest): Promise<void> => writeRecord(place, manifestText(manifest), { sync: false })

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

describe('a manifest', () => {
  it.each([0, 1, 511, 512, 513, 2000])(
    'of %i files is written as it would be at once, and read as it was',
    async (count) => {
      const manifest = manifestOf(count)
      await write(manifest)
      expect(readFileSync(place, 'utf8')).toBe(`${JSON.stringify(manifest, null, 2)}\n`)
      expect(await readManifest(ground.root, row)).toEqual({ complete: true, entries: manifest.entries })
    },
  )

  it('is written and read in pieces, between which others have their turn', async () => {
    const manifest = manifestOf(30_000)
    expect(await turnsDuring(() => write(manifest))).toBeGreaterThan(30)
    expect(await turnsDuring(() => readManifest(ground.root, row))).toBeGreaterThan(4)
    expect((await readManifest(ground.root, row))?.entries).toEqual(manifest.entries)
    // Control: at once they have none.
    expect(await turnsDuring(() => execManifestSchema.parse(JSON.parse(readFileSync(place, 'utf8'))))).toBe(0)
  })

  it('that was damaged anywhere is none', async () => {
    await write(manifestOf(30_000))
    const whole = readFileSync(place, 'utf8')
    const middle = whole.indexOf('"mode"', whole.length / 2)
    for (const bad of [
      '',
      whole.slice(0, -1),
      whole.slice(0, whole.length / 2),
      whole.replace('  "entries": [', '  "entry": ['),
      `${whole.slice(0, middle)}"node"${whole.slice(middle + 6)}`,
      `${whole.slice(0, middle)}}${whole.slice(middle + 1)}`,
      whole.replace(row.exec_id, ground.exec().exec_id),
    ]) {
      writeFileSync(place, bad)
      expect(await readManifest(ground.root, row)).toBeUndefined()
    }
    writeFileSync(place, whole)
    expect(await readManifest(ground.root, row)).toBeDefined()
  })
})
