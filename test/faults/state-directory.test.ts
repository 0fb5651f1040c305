// A host that runs out of disk or descriptors: a clear answer, and nothing half done.
import { chmodSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { cleanRun, type Clean } from './aftermath.ts'
import { finished } from './finished.ts'
import { faultGround, starters, type FaultGround } from './ground.ts'
import { controlGroupsOf, entriesBelow, sandboxIdsIn } from './traces.ts'

interface Answer {
  readonly code: string
  readonly message: string
  readonly hint?: string
}

interface Told {
  readonly answers: readonly Answer[]
  readonly unkilled: readonly string[]
  readonly before: number
  readonly after: number
}

let ground: FaultGround
let workspace: string
afterEach(() => ground.remove())

/** What `create.mjs` told, and the names of files that its state directory then held, as seen from its own mounts. */
async function create(
  args: readonly string[],
  under: readonly string[] = [],
): Promise<Told & { readonly files: readonly string[] }> {
  const { stdout, stderr } = await finished(ground.startHost('create.mjs', [workspace, ...args], { under }))
  const [line, ...files] = stdout.trimEnd().split('\n')
  if (line === undefined || !line.startsWith('{')) throw new Error(`the host said nothing: ${stderr}`)
  return { ...(JSON.parse(line) as Told), files }
}

function expectClear({ code, message }: Answer, codes: readonly string[]): void {
  expect(codes, message).toContain(code)
  expect(message).toMatch(/^Cannot .+: .+/)
  expect(message).not.toContain(ground.directory)
}

describe.skipIf(!starters.includes('root'))('a state directory on a disk of its own, started by root', () => {
  beforeEach(() => {
    ground = faultGround('root')
    workspace = ground.makeDirectory('workspace')
  })

  const onDisk = (options: string, ...then: readonly string[]): readonly string[] => {
    const mount = `mount -t tmpfs -o mode=700,${options} tmpfs "$GLOVEBOX_STATE_DIR"`
    const list = 'find "$GLOVEBOX_STATE_DIR" -mindepth 2 -printf "%P\\n"'
    return ['unshare', '-m', 'sh', '-c', [mount, ...then, '"$@"', list].join('; '), 'sh']
  }
  const onlyHome = [
    '.glovebox/',
    '.glovebox/.gitignore',
    '.glovebox/sandbox/',
    '.glovebox/sandbox/.cache/',
    '.glovebox/sandbox/tmp/',
  ]

  it('that is full is told as NO_SPACE at whatever step, and nothing is half done', async () => {
    const fill = 'head -c 1M /dev/zero > "$GLOVEBOX_STATE_DIR/fill" 2>/dev/null'
    // By bytes, and by ever more inodes: the disk is full at another step each time.
    const disks = [onDisk('size=64k', fill), ...[3, 6, 8, 10].map((count) => onDisk(`size=1m,nr_inodes=${count}`))]
    for (const disk of disks) {
      const { answers, files, after } = await create(['1'], disk)
      expect(answers).toHaveLength(1)
      expectClear(answers[0]!, ['NO_SPACE'])
      expect(answers[0]?.hint).toBeTruthy()
      expect(files, disk.join(' ')).toEqual([])
      expect(after).toBeLessThan(25)
      expect(onlyHome).toEqual(expect.arrayContaining([...entriesBelow(workspace)]))
    }
  })

  it('that is read-only is told, and nothing is half done', async () => {
    const { answers, files } = await create(['1'], onDisk('size=1m', 'mount -o remount,ro "$GLOVEBOX_STATE_DIR"'))
    expectClear(answers[0]!, ['NOT_PERMITTED', 'READ_ONLY'])
    expect(files).toEqual([])
    expect(entriesBelow(workspace)).toEqual([])
  })

  it('that has room serves: the control', async () => {
    const { answers, files } = await create(['1'], onDisk('size=1m'))
    expect(answers).toEqual([{ code: 'done', message: 'in\n' }])
    // Kept for the next one.
    expect(files).toEqual(['locks/placeholders.reserve'])
  })
})

describe.skipIf(process.platform !== 'linux')(
  'a state directory that its owner may not write, started by an ordinary user',
  () => {
    it('is told, and nothing is half done', async () => {
      ground = faultGround('user')
      workspace = ground.makeDirectory('workspace')
      chmodSync(ground.stateDir, 0o500)
      const { answers } = await create(['1'])
      expectClear(answers[0]!, ['NOT_PERMITTED'])
      expect(entriesBelow(ground.stateDir)).toEqual([])
      expect(entriesBelow(workspace)).toEqual([])
    })
  },
)

describe.skipIf(process.platform !== 'linux').each(starters)(
  'a host that is short of descriptors, started by %s',
  (starter) => {
    let clean: Clean
    beforeEach(async () => {
      ground = faultGround(starter)
      clean = await cleanRun(ground)
      workspace = ground.makeDirectory('workspace')
    })

    it('gets a clear answer at whatever step, and loses neither descriptors nor sandboxes', async () => {
      const codes = new Set<string>()
      for (const spare of [1, 8, 14, 24, 36]) {
        const { answers, unkilled, before, after } = await create(['2', String(spare)], ['prlimit', '--nofile=256'])
        const [first, ...rest] = answers
        expect(first).toEqual({ code: 'done', message: 'in\n' })
        for (const answer of rest)
          if (answer.code !== 'done') expectClear(answer, ['BUSY', 'BACKEND_UNAVAILABLE', 'BOUNDARY_FAILED'])
        for (const { code } of rest) codes.add(code)
        expect(unkilled).toEqual([])
        expect(after, `with ${spare} to spare`).toBe(before)
        expect(controlGroupsOf(sandboxIdsIn(ground.stateDir))).toEqual([])
        expect(entriesBelow(ground.stateDir)).toEqual(clean.state)
      }
      expect(codes.has('BUSY')).toBe(true)
    })
  },
)
