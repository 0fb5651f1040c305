import {
  appendFileSync,
  chmodSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cases } from '../../../test/fixtures/cases.ts'
import { findStart } from './history.ts'
import { makeTrees, told, truth, type TreeGround } from './ground.test-support.ts'
import { entriesByPath, fold } from './fold.ts'
import { openChangeWatch } from './watch.ts'

type Step =
  | { readonly do: 'look' }
  | { readonly do: 'create' | 'append' | 'overwrite' | 'delete' | 'mkdir'; readonly at: string }
  | { readonly do: 'chmod'; readonly at: string; readonly mode: number }
  | { readonly do: 'rename' | 'link'; readonly at: string; readonly to: string }
  | { readonly do: 'replace'; readonly at: string }

const paths = ['workspace/a', 'workspace/d', 'workspace/d/é', 'workspace/d/e', 'workspace/d/e/a', 'deliverables/a']
const anyPath = fc.constantFrom(...paths)
const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: fc.constant({ do: 'look' } as const), weight: 3 },
  { arbitrary: fc.record({ do: fc.constantFrom('create', 'append', 'overwrite'), at: anyPath }), weight: 5 },
  { arbitrary: fc.record({ do: fc.constantFrom('delete', 'mkdir', 'replace'), at: anyPath }), weight: 2 },
  fc.record({ do: fc.constant('chmod' as const), at: anyPath, mode: fc.constantFrom(0o700, 0o755, 0o711) }),
  { arbitrary: fc.record({ do: fc.constantFrom('rename', 'link'), at: anyPath, to: anyPath }), weight: 2 },
)

/** Steps that cannot be done in the tree as it is do nothing. */
function perform(ground: TreeGround, asked: Exclude<Step, { do: 'look' }>, content: string): void {
  const at = ground.place(asked.at)
  try {
    const kind = lstatSync(at, { throwIfNoEntry: false })
    if (asked.do === 'create') {
      mkdirSync(dirname(at), { recursive: true })
      writeFileSync(at, content, { flag: 'wx' })
    } else if (asked.do === 'append' && kind?.isFile()) appendFileSync(at, content)
    else if (asked.do === 'overwrite' && kind?.isFile()) writeFileSync(at, Buffer.alloc(kind.size, content))
    else if (asked.do === 'delete') rmSync(at, { recursive: true, force: true })
    else if (asked.do === 'mkdir') mkdirSync(at, { recursive: true })
    else if (asked.do === 'chmod' && kind !== undefined && !kind.isSymbolicLink()) chmodSync(at, asked.mode)
    else if (asked.do === 'rename' && kind !== undefined) renameSync(at, ground.place(asked.to))
    else if (asked.do === 'link') symlinkSync(asked.to, at)
    else if (asked.do === 'replace' && kind !== undefined) {
      rmSync(at, { recursive: true })
      if (kind.isDirectory()) writeFileSync(at, content)
      else mkdirSync(at)
    }
    // What a guest does who wants to hide a change: every time that can be set is set.
    if (lstatSync(at, { throwIfNoEntry: false })?.isFile()) utimesSync(at, 1, 1)
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error
  }
}

describe('folding', () => {
  it('folding the start and every change set gives the trees as they are', async () => {
    const times = fc.constantFrom({}, { hasFineTimes: false })
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }),
        fc.nat(10),
        times,
        async (steps, before, options) => {
          const ground = makeTrees()
          try {
            const act = (each: Step, index: number): void => {
              if (each.do !== 'look') perform(ground, each, `content ${index % 7}\n`)
            }
            steps.slice(0, before).forEach(act)
            const watch = await openChangeWatch({ directory: ground.directory, ...options })
            const folded = entriesByPath(findStart(ground.directory)?.entries ?? [])
            const look = async (): Promise<void> => {
              const set = await watch.look()
              expect(set).toMatchObject({ complete: true, stopped: [] })
              fold(folded, set.changes)
              expect(told(folded.values())).toEqual(truth(ground.directory))
            }
            for (const [index, each] of steps.slice(before).entries()) {
              act(each, index)
              if (each.do === 'look') await look()
            }
            await look()
            expect(told(watch.manifest())).toEqual(truth(ground.directory))
            expect(await watch.look()).toMatchObject({ changes: [] })
          } finally {
            rmSync(ground.directory, { recursive: true, force: true })
          }
        },
      ),
      cases(100),
    )
  })
})
