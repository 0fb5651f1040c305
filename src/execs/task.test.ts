import { describe, expect, it } from 'vitest'
import type { ExecRow, Store } from '../contract/store.ts'
import type { Beginning, Boundaries } from './boundaries.ts'
import { noExecFailpoint } from './failpoints.ts'
import type { Ground } from './ground.test-support.ts'
import { execsForEach } from './opened.test-support.ts'
import { openReserve } from './reserve.ts'
import { play, stage } from './stage.test-support.ts'
import { beginning, neverBegins } from './starting.ts'
import { openWork, type Work } from './work.ts'

let ground: Ground
let store: Store
execsForEach((opened) => ({ ground, store } = opened))

/** Commands that go on without their server. */
function lasting(onRun: (beginning: Beginning) => void): Boundaries {
  const staged = stage()
  return {
    ...staged,
    prepare: async (request) => ({
      ...(await staged.prepare(request)),
      async run(begun) {
        begun.onBeginning()
        onRun(begun)
        return Promise.race([play(request.argv[2] ?? '', begun), untilLetGo(begun)])
      },
      forget: async () => {},
    }),
  }
}

const untilLetGo = ({ letGo }: Beginning): Promise<never> =>
  new Promise((_, reject) => letGo?.addEventListener('abort', () => reject(new Error('it was let go of'))))

const workOn = (boundaries: Boundaries, over: Store = store): Work =>
  openWork({
    root: ground.root,
    store: over,
    now: () => new Date(),
    log: () => {},
    standIns: [],
    failpoint: noExecFailpoint,
    reserve: openReserve(ground.root),
    knownEnds: new Map(),
    boundaries,
    onChange: () => {},
    take: () => undefined,
    onGrown: () => {},
    onLeft: () => {},
  })

const claimed = async (command: string): Promise<ExecRow> => {
  const row = ground.exec({
    args: ['-lc', command],
    status: 'RUNNING',
    owner: 'srv_self',
    started_at: new Date().toISOString(),
  })
  await store.execs.insert(row)
  return row
}

/** Another server believed us dead, and then we hear of it. */
async function takenByAnother(work: Work, row: ExecRow, then: (taken: ExecRow) => Promise<unknown>): Promise<void> {
  const taken = await store.execs.takeOver(row.exec_id, { from: 'srv_self', to: 'srv_other' })
  await then(taken as ExecRow)
  await work.rename('srv_self', 'srv_again')
}

describe('an exec that another server was given while it ran here', () => {
  const begin = async (): Promise<{ work: Work; row: ExecRow; seen: Beginning; done: Promise<void> }> => {
    const row = await claimed('hang')
    return new Promise((resolve) => {
      const work = workOn(lasting((seen) => resolve({ work, row, seen, done })))
      const done = work.run(row)
    })
  }

  it('is let go of where it goes on under the same name, and is not ended', async () => {
    const { work, row, seen, done } = await begin()
    await takenByAnother(work, row, async () => {})
    await done
    expect([seen.letGo?.aborted, seen.signal.aborted]).toEqual([true, false])
    expect(await store.execs.find(row.exec_id)).toMatchObject({ status: 'RUNNING', owner: 'srv_other' })
  })

  it('is ended where the other has written down its end', async () => {
    const { work, row, seen, done } = await begin()
    const end = { status: 'LOST', error_reason: 'server_crash', ended_at: new Date().toISOString() } as const
    await takenByAnother(work, row, ({ fence }) => store.execs.update(row.exec_id, fence, end))
    await done
    expect([seen.letGo?.aborted, seen.signal.aborted]).toEqual([false, true])
  })

  it('is ended where the other has put it back into the queue, and it may run under another name', async () => {
    const { work, row, seen, done } = await begin()
    const again = { status: 'QUEUED', boundary_id: null, started_at: null } as const
    await takenByAnother(work, row, ({ fence }) => store.execs.update(row.exec_id, fence, again))
    await done
    expect([seen.letGo?.aborted, seen.signal.aborted]).toEqual([false, true])
  })
})

describe('an exec that another server was given before anything of it ran here', () => {
  it('does not begin here, though the database could not be asked at first', async () => {
    const began: Beginning[] = []
    const find: Store['execs']['find'] = async (execId) => {
      await store.execs.takeOver(execId, { from: 'srv_self', to: 'srv_other' })
      return store.execs.find(execId)
    }
    const row = await claimed('hello')
    await workOn(
      stage(async (_, begun) => ({ by: 'exit', code: began.push(begun as Beginning) })),
      {
        ...store,
        execs: { ...store.execs, find },
      },
    ).run(row)
    expect(began.map(({ signal }) => signal.aborted)).toEqual([true])
    expect(await store.execs.find(row.exec_id)).toMatchObject({ status: 'RUNNING', owner: 'srv_other' })
  })

  it('does not begin here once the other has made sure that nothing has run', async () => {
    const row = await claimed('hello')
    const work = workOn({
      ...lasting(() => expect.fail('nothing may run')),
      prepare: async (request) => ({
        ...(await stage().prepare(request)),
        async run({ onBeginning }) {
          expect(neverBegins(ground.root, row, `sbx_${row.exec_id}`)).toBe(true)
          onBeginning()
          return expect.fail('nothing may run')
        },
      }),
    })
    await work.run(row)
    expect(await store.execs.find(row.exec_id)).toMatchObject({ status: 'RUNNING', ended_at: null })
    expect(beginning(ground.root, row, `sbx_${row.exec_id}`)).toBe(false)
  })
})
