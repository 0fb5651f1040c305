import { appendFileSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { execManifestSchema, type ExecArtifact } from '../contract/exec-record.ts'
import type { ExecRow } from '../contract/store.ts'
import { listArtifacts } from './artifacts.ts'
import { makeGround, type Ground } from './ground.test-support.ts'
import { recordPlace } from './layout.ts'
import { manifestText } from './manifest-file.ts'
import { makeManifest } from './manifest.ts'
import { writeRecord } from './record.ts'
import { recordedArtifact } from './recorded-artifact.ts'

let ground: Ground
let row: ExecRow
let place: string
beforeEach(() => {
  ground = makeGround()
  row = ground.exec()
  place = recordPlace(ground.root, row, 'manifest.json')
})
afterEach(() => ground.remove())

const damaged = expect.objectContaining({ code: 'RECORD_DAMAGED' }) as Error
const unrecorded = expect.objectContaining({ code: 'ARTIFACT_CHANGED' }) as Error

const look = (path: string) => recordedArtifact(ground.root, row, path)
const write = (change: { readonly complete?: boolean; readonly entries: readonly ExecArtifact[] }): Promise<void> =>
  writeRecord(
    place,
    manifestText({
      exec_id: row.exec_id,
      recorded_at: new Date().toISOString(),
      complete: true,
      over_limit: false,
      total_bytes: 0,
      ...change,
      entries: [...change.entries],
    }),
    { sync: false },
  )
const entry = (path: string, change: Partial<ExecArtifact> = {}): ExecArtifact => ({
  path,
  path_base64: null,
  kind: 'file',
  size: 1,
  sha256: 'a'.repeat(64),
  mode: 0o644,
  target: null,
  skipped: null,
  ...change,
})

describe('what a manifest says of one file', () => {
  it('is what stands in it, whatever the names are', async () => {
    const names = [
      'a',
      'b"c',
      'line\nbreak',
      '\n      "path": "a",\n      "path_base64": null,',
      '{',
      '\\',
      'ü€😀',
      ' ',
    ]
    for (const name of names) writeFileSync(join(ground.files(row), name), name)
    writeFileSync(Buffer.concat([Buffer.from(`${ground.files(row)}/`), Buffer.from([0xff])]), 'x')
    const manifest = await makeManifest({ root: ground.root, name: row, overLimit: false, now: () => new Date() })
    await writeRecord(place, manifestText(manifest), { sync: false })
    for (const name of names) expect(await look(name), name).toEqual(manifest.entries.find(({ path }) => path === name))
    // What is no UTF-8 has no name by which it could be asked for.
    for (const name of ['\ufffd', 'c', 'B', '', 'a/b']) expect(await look(name), name).toBe(null)
  })

  it('is found in a list of any length, while others have their turn', async () => {
    const entries = Array.from({ length: 20_000 }, (_, number) => entry(`${'d/'.repeat(number % 97)}${number}`))
    await write({ entries })
    let turns = 0
    const turning = setInterval(() => turns++, 0)
    for (const number of [0, 5_000, 12_345, 19_999])
      expect(await look(entries[number]?.path ?? '')).toEqual(entries[number])
    expect(await look('none')).toBe(null)
    clearInterval(turning)
    expect(turns).toBeGreaterThan(0)
    // Control: to read all of it gives nobody a turn.
    const before = turns
    const again = setInterval(() => turns++, 0)
    expect(execManifestSchema.parse(JSON.parse(readFileSync(place, 'utf8'))).entries).toHaveLength(entries.length)
    clearInterval(again)
    expect(turns).toBe(before)
  })

  it('is not told where it was cut, is missing or of another exec, and what it left out is refused', async () => {
    await expect(look('a')).rejects.toThrow(damaged)
    await write({ complete: false, entries: [entry('a'), entry('b', { sha256: null, skipped: 'unreadable' })] })
    expect(await look('a')).toEqual(entry('a'))
    for (const name of ['b', 'c']) await expect(look(name), name).rejects.toThrow(unrecorded)
    await write({ entries: [] })
    expect(await look('a')).toBe(null)
    await write({ entries: [entry('a'), entry('b')] })
    truncateSync(place, readFileSync(place).length - 3)
    await expect(look('a')).rejects.toThrow(damaged)
    appendFileSync(place, '\n}\n')
    expect(await look('a')).toEqual(entry('a'))
    const whole = readFileSync(place, 'utf8')
    for (const bad of [
      '',
      '\0'.repeat(whole.length),
      whole.replace(row.exec_id, ground.exec().exec_id),
      whole.replace('"kind": "file"', '"kind": "fill"'),
      whole.replace('"mode"', 'mode'),
      JSON.stringify({ entries: [entry('a')] }),
    ]) {
      writeFileSync(place, bad)
      await expect(look('a'), bad).rejects.toThrow(damaged)
    }
    rmSync(place)
    symlinkSync('meta.json', place)
    await expect(look('a')).rejects.toThrow(damaged)
  })

  it('is told by one in another form too, as long as it is short', async () => {
    const rewrite = async (entries: readonly ExecArtifact[], complete = true): Promise<void> => {
      await write({ entries, complete })
      writeFileSync(place, JSON.stringify(JSON.parse(readFileSync(place, 'utf8'))))
    }
    const bytes = { path_base64: Buffer.from([0xff]).toString('base64') }
    await rewrite([entry('a'), entry('\ufffd', bytes)])
    expect([await look('a'), await look('b'), await look('\ufffd')]).toEqual([entry('a'), null, null])
    await rewrite([entry('a')], false)
    expect(await look('a')).toEqual(entry('a'))
    await expect(look('b')).rejects.toThrow(unrecorded)
    await rewrite(Array.from({ length: 8000 }, (_, number) => entry(`a${number}`)))
    await expect(look('a0')).rejects.toThrow(damaged)
  })

  it('a list of what cannot be read says that it is not whole, and has no hashes', async () => {
    writeFileSync(join(ground.files(row), 'a'), 'x')
    const ended = { ...row, status: 'SUCCEEDED' as const }
    await writeRecord(
      place,
      manifestText(await makeManifest({ root: ground.root, name: row, overLimit: false, now: () => new Date() })),
      { sync: false },
    )
    const list = async () => {
      const { complete, entries } = await listArtifacts(ground.root, ended)
      return { complete, hashes: entries.filter(({ by }) => by === 'guest').map(({ sha256 }) => sha256) }
    }
    expect(await list()).toEqual({ complete: true, hashes: [expect.any(String)] })
    writeFileSync(place, readFileSync(place, 'utf8').replace(row.exec_id, ground.exec().exec_id))
    expect(await list()).toEqual({ complete: false, hashes: [null] })
    truncateSync(place, 10)
    expect(await list()).toEqual({ complete: false, hashes: [null] })
  })
})
