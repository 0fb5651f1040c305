import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { groundForEach } from '../../../runs/ground.test-support.ts'
import { compareArtifacts, type Tree } from './artifacts.ts'

const ground = groundForEach()

const then = Date.parse('2026-03-01T10:20:30.000Z')
const now = Date.parse('2026-11-15T11:45:07.000Z')

type Files = Readonly<Record<string, string | Buffer>>

async function treeOf(files: Files, fromMs: number, prepare: (directory: string) => void = () => {}): Promise<Tree> {
  const run = await ground().create()
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(run.directory, path, '..'), { recursive: true })
    writeFileSync(join(run.directory, path), content)
  }
  prepare(run.directory)
  return { directory: run.directory, manifest: await run.artifacts(), fromMs, toMs: fromMs + 1000 }
}

const compare = async (one: Files, other: Files, seen = new Map<string, string>()) =>
  compareArtifacts(await treeOf(one, then), await treeOf(other, now), seen)

const differing = ({ artifacts }: Awaited<ReturnType<typeof compare>>) =>
  artifacts.filter(({ result }) => result !== 'identical')

describe('compareArtifacts', () => {
  it('finds equal trees identical, entry by entry', async () => {
    const files = { 'workspace/a/b.txt': 'text', 'deliverables/c.bin': Buffer.from([0, 255]) }
    const { artifacts, doubts } = await compare(files, files)
    expect(artifacts.map(({ path, result }) => [path, result])).toEqual([
      ['deliverables/c.bin', 'identical'],
      ['workspace/a', 'identical'],
      ['workspace/a/b.txt', 'identical'],
    ])
    expect(doubts).toEqual([])
  })

  it('names the first differing byte of a large file, and a cause where one is known', async () => {
    const large = (stamp: number) => `${'x'.repeat(700_000)}\nmade at ${stamp / 1000}\n`
    const [found] = differing(await compare({ 'workspace/log': large(then) }, { 'workspace/log': large(now) }))
    expect(found?.differences).toEqual([
      {
        part: 'content',
        detail: 'differs at byte 700011',
        place: {
          offset: 700_011,
          before: `${'x'.repeat(13)}\\nmade at 17`,
          original: '72360430\\n',
          replayed: '94743107\\n',
        },
        cause: { kind: 'time', because: 'each holds the time at which it was made' },
      },
    ])
  })

  it('explains a file by the action whose output held the same values', async () => {
    const seen = new Map([[JSON.stringify(['deadcafe', 'feedbeef']), '#7']])
    const [found] = differing(await compare({ 'workspace/id': 'id deadcafe' }, { 'workspace/id': 'id feedbeef' }, seen))
    expect(found?.differences[0]?.cause?.because).toBe('the same two values differ in #7')
  })

  it('tells what is missing, what was added, and what is of another kind', async () => {
    const compared = await compare(
      { 'workspace/gone': '1', 'workspace/kind': '2' },
      { 'workspace/kind/inner': '2', 'workspace/new': '3' },
    )
    expect(differing(compared).map(({ path, differences }) => [path, differences[0]?.detail])).toEqual([
      ['workspace/gone', 'it was there then, and is not now'],
      ['workspace/kind', 'file then, directory now'],
      ['workspace/kind/inner', 'it was not there then, and is now'],
      ['workspace/new', 'it was not there then, and is now'],
    ])
  })

  it('tells other modes and other targets of links, and follows none', async () => {
    const prepare = (target: string, mode: number) => (directory: string) => {
      symlinkSync(target, join(directory, 'workspace', 'link'))
      chmodSync(join(directory, 'workspace', 'tool'), mode)
    }
    const files = { 'workspace/tool': '#!/bin/sh\n' }
    const one = await treeOf(files, then, prepare('/etc/passwd', 0o755))
    const other = await treeOf(files, now, prepare('/etc/group', 0o644))
    const { artifacts } = await compareArtifacts(one, other, new Map())
    expect(
      artifacts.map(({ path, differences }) => [path, differences.map(({ part, detail }) => `${part}: ${detail}`)]),
    ).toEqual([
      ['workspace/link', ['target: the link points elsewhere']],
      ['workspace/tool', ['mode: 0755 then, 0644 now']],
    ])
  })

  it('calls what was not hashed not comparable, and says that a manifest is not complete', async () => {
    const one = await treeOf({ 'workspace/big': 'x' }, then)
    const unhashed = one.manifest.entries.map((entry) => ({ ...entry, sha256: null, skipped: 'bytes' as const }))
    const partial: Tree = {
      ...one,
      manifest: { ...one.manifest, complete: false, stopped: ['bytes'], entries: unhashed },
    }
    const { artifacts, doubts } = await compareArtifacts(
      partial,
      await treeOf({ 'workspace/big': 'x' }, now),
      new Map(),
    )
    expect(artifacts[0]).toMatchObject({ result: 'not_comparable', reason: 'its content was not hashed (bytes)' })
    expect(doubts).toEqual(['the artifact manifest of the original is not complete (bytes)'])
  })
})
