// What a workspace that is an overlay shows, told from its upper layer alone, against the kernel's own word: a real overlay
// is mounted in a mount namespace of its own, worked in, and listed there.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fold } from '../../src/runs/changes/fold.ts'
import { openChangeWatch, type ChangeWatch } from '../../src/runs/changes/watch.ts'
import type { TreeEntry } from '../../src/contract/recorded-action.ts'
import { dearCases } from '../fixtures/cases.ts'

interface Ground {
  readonly directory: string
  readonly upper: string
  readonly lower: readonly string[]
  /** Works in the overlay, and tells what is in it afterwards. */
  work(script: string): readonly string[]
  remove(): void
}

const listing = `find . -mindepth 1 '!' -type f -printf '%p %y %m %l\\n'; find . -type f -printf '%p %m ' -exec sh -c 'sha256sum < "$1"' - {} ';'`

function makeGround(options: string): Ground {
  const directory = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'glovebox-overlay-'))
  const [upper, work, merged] = ['workspace', 'work', 'merged'].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ]
  const lower = ['near', 'far'].map((name) => join(directory, name))
  for (const name of ['workspace', 'deliverables', 'archive', 'logs', 'work', 'merged', 'near', 'far'])
    mkdirSync(join(directory, name))
  for (const [path, text] of [
    ['far/d/a', 'far a'],
    ['far/d/e/b', 'far b'],
    ['far/d/e/c', 'far c'],
    ['far/only', 'only far'],
    ['near/d/a', 'near a'],
    ['near/f', 'near f'],
    ['near/g/h', 'near h'],
  ] as const) {
    mkdirSync(join(directory, path, '..'), { recursive: true })
    writeFileSync(join(directory, path), text)
  }
  const mount = `mount -t overlay overlay -o ${options}lowerdir=${lower.join(':')},upperdir=${upper},workdir=${work} ${merged}`
  return {
    directory,
    upper,
    lower,
    work(script) {
      const ran = spawnSync('unshare', [
        '-m',
        'sh',
        '-c',
        `${mount} && cd ${merged} && { ${script}\n} 2>/dev/null; ${listing}`,
      ])
      if (ran.stderr.length > 0) throw new Error(ran.stderr.toString())
      return ran.stdout.toString().split('\n').filter(Boolean).toSorted()
    },
    remove: () => rmSync(directory, { recursive: true, force: true }),
  }
}

/** In the form of the listing. */
function told(entries: Iterable<TreeEntry>): readonly string[] {
  const letters = { directory: 'd', symlink: 'l', other: 'p', file: '' } as const
  return [...entries]
    .map(({ path, kind, mode, sha256, target }) => {
      const name = path.replace(/^workspace/, '.')
      const bits = mode.toString(8)
      return kind === 'file' ? `${name} ${bits} ${sha256}  -` : `${name} ${letters[kind]} ${bits} ${target ?? ''}`
    })
    .toSorted()
}

/** The lower layers as they are seen without any change. */
async function startOf(ground: Ground): Promise<Map<string, TreeEntry>> {
  const lines = ground.work(':')
  const entries = lines.map((line): TreeEntry => {
    const file = /^\.(\S*) (\d+) ([0-9a-f]{64}) {2}-$/.exec(line)
    const other = /^\.(\S*) d (\d+) $/.exec(line)
    const [, path = '', mode = '', sha256] = file ?? other ?? []
    const kind = file === null ? 'directory' : 'file'
    const plain = { path: `workspace${path}`, path_base64: null, size: null, target: null, kept: false }
    return { ...plain, kind, mode: Number.parseInt(mode, 8), sha256: sha256 ?? null }
  })
  return new Map(entries.map((entry) => [entry.path, entry]))
}

const places = ['f', 'only', 'd', 'd/a', 'd/e', 'd/e/b', 'd/e/c', 'g', 'g/h', 'n', 'd/n', 'g/n']
const place = fc.constantFrom(...places)
const step = fc.oneof(
  { arbitrary: fc.tuple(place, fc.nat(3)).map(([at, text]) => `echo ${text} > ${at}`), weight: 3 },
  { arbitrary: place.map((at) => `rm -rf ${at}`), weight: 2 },
  { arbitrary: place.map((at) => `mkdir ${at}`), weight: 2 },
  place.map((at) => `rm -rf ${at}; mkdir ${at}; echo again > ${at}/again`),
  fc.tuple(place, place).map(([from, to]) => `mv -T ${from} ${to}`),
  fc.tuple(place, place).map(([to, at]) => `ln -s ${to} ${at}`),
  place.map((at) => `chmod 700 ${at}`),
)
const looks = fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 4 })

async function lookAndCompare(
  ground: Ground,
  watch: ChangeWatch,
  state: Map<string, TreeEntry>,
  script: string,
): Promise<void> {
  const truth = ground.work(script)
  const set = await watch.look()
  expect(set).toMatchObject({ by: 'overlay', complete: true, stopped: [] })
  fold(state, set.changes)
  expect(told(state.values())).toEqual(truth)
}

const isRoot = process.getuid?.() === 0

describe.skipIf(!isRoot)(
  'changes of an overlay (as root only: to others the marks of overlayfs are unreadable)',
  () => {
    it.each(['', 'redirect_dir=on,'])(
      'folding every change set onto the layers gives what the guest sees, mounted with "%s"',
      async (options) => {
        await fc.assert(
          fc.asyncProperty(looks, async (scripts) => {
            const ground = makeGround(options)
            try {
              const state = await startOf(ground)
              const watch = await openChangeWatch({ directory: ground.directory, layers: ground })
              for (const script of scripts) await lookAndCompare(ground, watch, state, script.join('\n'))
              expect((await watch.look()).changes).toEqual([])
            } finally {
              ground.remove()
            }
          }),
          dearCases(30, 12),
        )
      },
    )

    it('a change deep in a large layer is told alone, with what was there before', async () => {
      const ground = makeGround('')
      try {
        const watch = await openChangeWatch({ directory: ground.directory, layers: ground })
        ground.work('echo new > d/e/b')
        expect((await watch.look()).changes).toMatchObject([
          {
            path: 'workspace/d/e/b',
            change: 'changed',
            before_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
            kept: true,
          },
        ])
      } finally {
        ground.remove()
      }
    })
  },
)
