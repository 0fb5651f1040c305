// What Glovebox works out of the layers of a fork without a mount, against the kernel's own word: stacks of real overlays are
// mounted in a mount namespace of their own, worked in at random, level upon level, and listed there.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ArtifactManifest } from '../../src/contract/artifact.ts'
import { artifactManifest } from '../../src/runs/artifacts.ts'
import { copyTree } from '../../src/runs/fork/copy.ts'
import { checkArtifacts } from '../../src/runs/verify-artifacts.ts'
import { dearCases } from '../fixtures/cases.ts'

const options = 'redirect_dir=on,index=off,metacopy=off,xino=off'
const listing = `find . -mindepth 1 '!' -type f -printf '%P %y %m %l\\n'; find . -type f -printf '%P f %m ' -exec sh -c 'sha256sum < "$1"' - {} ';'`
const names = ['a', 'b', 'c', 'd/a', 'd/b', 'd/e/a', 'd/e/b', 'f', 'f/a', 'g', 'g/h/i']
const name = fc.constantFrom(...names)
const move = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(name, name).map(([from, to]) => `mkdir -p $(dirname ${to}); mv -T ${from} ${to}`) },
  { weight: 2, arbitrary: name.map((at) => `rm -rf ${at}`) },
  { weight: 2, arbitrary: name.map((at) => `rm -rf ${at}; mkdir -p ${at}`) },
  {
    weight: 2,
    arbitrary: fc.tuple(name, fc.nat(99)).map(([at, n]) => `mkdir -p $(dirname ${at}); echo ${n} >> ${at}`),
  },
  { weight: 1, arbitrary: fc.tuple(name, name).map(([at, to]) => `mkdir -p $(dirname ${at}); ln -sfn ${to} ${at}`) },
  { weight: 1, arbitrary: name.map((at) => `chmod 700 ${at}`) },
)

const told = ({ entries }: ArtifactManifest): readonly string[] =>
  entries
    .map(({ path, kind, mode, target, sha256 }) => {
      const shown = `${path.slice('workspace/'.length)} ${kind === 'directory' ? 'd' : kind === 'symlink' ? 'l' : 'f'} ${mode.toString(8)} `
      return kind === 'file' ? `${shown}${sha256}  -` : `${shown}${target ?? ''}`
    })
    .toSorted()

interface Stack {
  /** Host paths of the run directories, uppermost first. */
  readonly runs: readonly string[]
  readonly listed: readonly string[]
}

/** One overlay upon the other, each with a script of its own; what the kernel shows of the uppermost. */
function work(ground: string, scripts: readonly (readonly string[])[]): Stack {
  const runs: string[] = []
  let listed: readonly string[] = []
  for (const [level, script] of scripts.entries()) {
    const run = join(ground, String(level))
    for (const part of ['workspace', 'deliverables', 'archive', 'work', 'merged'])
      mkdirSync(join(run, part), { recursive: true })
    const lower = runs.map((each) => join(each, 'workspace')).join(':')
    const mount = `mount -t overlay overlay -o ${options},lowerdir=${lower},upperdir=${run}/workspace,workdir=${run}/work ${run}/merged`
    const enter = level === 0 ? `cd ${run}/workspace` : `${mount} && cd ${run}/merged`
    const ran = spawnSync('unshare', [
      '-m',
      'sh',
      '-c',
      `${enter} && { ${script.join('\n')}\n} 2>/dev/null; ${listing}`,
    ])
    if (ran.stderr.length > 0 || ran.stdout === null) throw new Error(String(ran.stderr))
    listed = ran.stdout.toString().split('\n').filter(Boolean).toSorted()
    runs.unshift(run)
  }
  return { runs, listed }
}

const layer = (run: string, index: number): object => {
  writeFileSync(join(run, 'run.json'), JSON.stringify(runJson(`r${index}`)))
  return { run_id: `r${index}`, directory: run, relative: run, place: 'workspace', unchanged_since: null }
}
const at = '2026-01-01T00:00:00.000Z'
const runJson = (id: string): object => ({
  session_id: 's',
  task_id: 't',
  run_id: id,
  profile_id: null,
  config_fingerprint: '0'.repeat(64),
  status: 'completed',
  created_at: at,
  updated_at: at,
  started_at: at,
  completed_at: at,
  failure_reason: null,
  layout: 1,
  executor: null,
  revision_of: null,
  forked_from: null,
  state_seq: 1,
  state_hash: '0'.repeat(64),
})

async function compare(scripts: readonly (readonly string[])[]): Promise<number> {
  const ground = mkdtempSync(join(tmpdir(), 'glovebox-view-'))
  try {
    const { runs, listed } = work(ground, scripts)
    const [top = '', ...under] = runs
    const layers = under.map((run) => join(run, 'workspace'))
    const parts = { workspace: join(top, 'workspace'), deliverables: join(top, 'deliverables'), runId: 'r' }
    const manifest = await artifactManifest({ ...parts, under: layers })
    expect(told(manifest)).toEqual(listed)

    const record = {
      run_id: 'r',
      forked_from: { run_id: 'r0', seq: 1 },
      event_hash: '0'.repeat(64),
      after_action: null,
      forked_at: at,
      by: 'overlay',
      why: null,
      layers: under.map(layer),
    }
    writeFileSync(join(top, 'archive/fork.json'), JSON.stringify(record))
    expect((await checkArtifacts(top, manifest)).findings).toEqual([])

    const copy = join(ground, 'copy')
    mkdirSync(copy)
    await copyTree([parts.workspace, ...layers], copy, 'copy')
    expect(told(await artifactManifest({ ...parts, workspace: copy }))).toEqual(listed)
    return listed.length
  } finally {
    rmSync(ground, { recursive: true, force: true })
  }
}

describe.runIf(process.getuid?.() === 0)('layers without a mount', () => {
  it('are seen, verified and copied as the kernel shows them', async () => {
    let seen = 0
    const levels = fc.array(fc.array(move, { minLength: 1, maxLength: 7 }), { minLength: 2, maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(levels, async (scripts) => {
        seen += await compare(scripts)
      }),
      dearCases(100, 30),
    )
    expect(seen).toBeGreaterThan(30)
  })

  it.each([
    [
      'a directory moved twice, in two levels',
      [['mkdir -p a/b; echo 1 > a/b/f'], ['mv a c'], ['mv c/b d'], ['mv d c/e; echo 2 > c/e/g']],
    ],
    [
      'a moved directory whose old name is used again',
      [['mkdir -p a/b; echo 1 > a/b/f'], ['mv a c; mkdir a; echo 2 > a/x'], ['mv c a/c; rm a/x']],
    ],
    [
      'a directory that replaces a deleted one',
      [['mkdir -p a; echo 1 > a/f'], ['rm -r a; mkdir a; echo 2 > a/g'], ['echo 3 > a/h']],
    ],
    [
      'a file in the place of a directory and back',
      [['mkdir a; echo 1 > a/f'], ['rm -r a; echo 2 > a'], ['rm a; mkdir a; echo 3 > a/g']],
    ],
    [
      'a directory moved below one that is new',
      [['echo 1 > a'], ['mkdir f; mv a f/a'], ['mkdir -p d/e; mv f d/e/f'], ['mkdir n; mv d/e/f n/m; mkdir -p d/e/f']],
    ],
    [
      'a name that is no UTF-8',
      [['mkdir d; echo 1 > "$(printf \'d/\\377\')"'], ['mv d "$(printf \'e\\376\')"; echo 2 > k']],
    ],
  ])('%s', async (_, scripts) => {
    expect(await compare(scripts)).toBeGreaterThan(0)
  })
})
