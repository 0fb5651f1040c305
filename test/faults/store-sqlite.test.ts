// SQLite: locked, killed, torn and damaged. What was answered is there, or the file is put aside and says so.
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { execRow, tokenRow } from '../conformance/store/subject.ts'
import { holdLock, killedWriter, storeGround, type StoreGround } from './store-ground.ts'
import { committedBefore, framesIn } from './write-ahead-log.ts'

let ground: StoreGround
beforeEach(() => {
  ground = storeGround()
})
afterEach(() => ground.close())

const answer = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'done',
    (error: { readonly code: string }) => error.code,
  )

const filled = async (): Promise<void> => {
  const store = await ground.open()
  await Promise.all(Array.from({ length: 300 }, () => store.execs.insert(execRow({ cmd: 'x'.repeat(500) }))))
  await ground.release(store)
}

const damage = (): void => writeFileSync(ground.file, readFileSync(ground.file).fill(0x99, 4096))

describe('a SQLite file that somebody else holds', () => {
  it('is waited for with a bound, while everything else goes on; nothing is written, and later it can be', async () => {
    const waitMs = 3000
    const store = await ground.open({ waitMs })
    await store.tokens.insert(tokenRow('before'))
    const letGo = holdLock(ground.file)
    let ticks = 0
    const ticking = setInterval(() => (ticks += 1), 5)
    const begun = performance.now()
    const rows = Array.from({ length: 10 }, () => execRow())
    const answers = await Promise.all(rows.map((row) => answer(store.execs.insert(row))))
    const tookMs = performance.now() - begun
    clearInterval(ticking)
    expect(answers).toEqual(rows.map(() => 'STORE_UNAVAILABLE'))
    // The lock is held for as long as we like: that there are answers at all shows the bound.
    expect(tookMs).toBeGreaterThan(waitMs - 100)
    // A store that held everything up while it waits would let through one for each of the ten at most.
    expect(ticks).toBeGreaterThan(20)
    expect(await store.tokens.count()).toBe(1)
    letGo()
    expect(await store.execs.count({})).toBe(0)
    expect(await answer(store.execs.insert(rows[0]!))).toBe('done')
    expect(await store.execs.count({})).toBe(1)
  })

  it('is written as soon as it is let go', async () => {
    const store = await ground.open()
    const letGo = holdLock(ground.file)
    const row = execRow()
    const write = store.execs.insert(row)
    await delay(300)
    expect(await store.execs.find(row.exec_id)).toBeUndefined()
    letGo()
    await write
    expect(await store.execs.find(row.exec_id)).toEqual(row)
  })
})

describe('a server that was killed', () => {
  it('has everything that it answered for', async () => {
    for (const afterRows of [1, 40, 400]) {
      const answered = await killedWriter(ground.file, { afterRows })
      expect(answered.length).toBeGreaterThanOrEqual(afterRows)
      const store = await ground.open()
      const missing: string[] = []
      for (const id of answered) if ((await store.execs.find(id)) === undefined) missing.push(id)
      expect(missing).toEqual([])
      expect(store.quarantined).toBeUndefined()
      await store.close()
    }
  })
})

describe('a write-ahead log', () => {
  interface Unfinished {
    /** In the file itself, and so there whatever becomes of the log. */
    readonly checkpointed: readonly string[]
    /** In the log alone. */
    readonly logged: readonly string[]
    readonly file: Buffer
    readonly log: Buffer
  }

  /** A database that was closed in good order, and went on until its writer was killed. */
  const unfinished = async (): Promise<Unfinished> => {
    const checkpointed = await killedWriter(ground.file, { afterRows: 20, thenWaits: true })
    await ground.release(await ground.open())
    expect(statSync(`${ground.file}-wal`, { throwIfNoEntry: false })?.size ?? 0).toBe(0)
    // No more than that: with many more the log is begun anew, and its second half is what was written before.
    const logged = await killedWriter(ground.file, { afterRows: 60, thenWaits: true })
    expect([checkpointed, logged].map((rows) => rows.length)).toEqual([20, 60])
    const [file, log] = [readFileSync(ground.file), readFileSync(`${ground.file}-wal`)]
    // By the bytes alone: what is asked below is told by the log.
    expect(checkpointed.filter((id) => !file.includes(id))).toEqual([])
    expect(logged.filter((id) => file.includes(id) || !log.includes(id))).toEqual([])
    return { checkpointed, logged, file, log }
  }

  /** All that is there with this log beside the file. Undefined: with none. Elsewhere: SQLite remembers what it knows of a file that is open. */
  const rowsWith = async (
    { file }: Unfinished,
    log: Buffer | undefined,
    shared?: Buffer,
  ): Promise<readonly string[]> => {
    const copy = storeGround()
    try {
      writeFileSync(copy.file, file)
      if (log !== undefined) writeFileSync(`${copy.file}-wal`, log)
      if (shared !== undefined) writeFileSync(`${copy.file}-shm`, shared)
      const store = await copy.open()
      expect(store.quarantined).toBeUndefined()
      const { rows, next } = await store.execs.list({}, { limit: 1000 })
      expect(next).toBeNull()
      return rows.map(({ exec_id }) => exec_id).toSorted()
    } finally {
      await copy.close()
    }
  }
  const all = ({ checkpointed, logged }: Unfinished): readonly string[] => [...checkpointed, ...logged].toSorted()
  /** Those of which the log holds the whole transaction before this place, and no others. */
  const whole = ({ checkpointed, logged, log }: Unfinished, before: number): readonly string[] => {
    const committed = log.subarray(0, committedBefore(framesIn(log), before))
    return [...checkpointed, ...logged.filter((id) => committed.includes(id))].toSorted()
  }
  /** In the header of a frame, in its page, at its end, and in the middle of all. */
  const places = ({ log }: Unfinished): readonly number[] => {
    const frames = framesIn(log)
    const commits = frames.filter(({ isCommit }) => isCommit)
    // The control: several transactions of several frames, so that there is something to lose and something to keep.
    expect(commits.length).toBeGreaterThan(4)
    expect(frames.length).toBeGreaterThan(commits.length)
    const [second, last] = [commits[1]!, commits.at(-1)!]
    return [commits[0]!.begin + 5, second.begin + 30, second.end - 1, second.end + 1, log.length >> 1, last.end - 1]
  }

  it('with garbage at its end loses nothing', async () => {
    const database = await unfinished()
    expect(await rowsWith(database, Buffer.concat([database.log, Buffer.alloc(10_000, 0xa5)]))).toEqual(all(database))
  })

  it('that was cut short opens at its last whole transaction: all rows of those before, and none of another', async () => {
    const database = await unfinished()
    const counts = new Set<number>()
    for (const place of places(database)) {
      const rows = await rowsWith(database, database.log.subarray(0, place))
      expect([place, rows]).toEqual([place, whole(database, place)])
      counts.add(rows.length)
    }
    expect(counts.has(all(database).length)).toBe(false)
    expect(counts.size).toBeGreaterThan(2)
  })

  it('with a flipped bit opens at the last whole transaction before it: all rows of those, and none behind', async () => {
    const database = await unfinished()
    const counts = new Set<number>()
    for (const place of places(database)) {
      const log = Buffer.from(database.log)
      log[place] = log[place]! ^ 1
      const rows = await rowsWith(database, log)
      expect([place, rows]).toEqual([place, whole(database, place)])
      counts.add(rows.length)
    }
    expect(counts.has(all(database).length)).toBe(false)
    expect(counts.size).toBeGreaterThan(2)
  })

  it('that is gone leaves exactly the last checkpoint', async () => {
    const database = await unfinished()
    expect(await rowsWith(database, undefined)).toEqual(database.checkpointed.toSorted())
  })

  it('is found again when its shared memory is garbage', async () => {
    const database = await unfinished()
    expect(await rowsWith(database, database.log, Buffer.alloc(32_768, 0x5a))).toEqual(all(database))
  })
})

describe('a damaged SQLite file', () => {
  const damages: readonly (readonly [string, (bytes: Buffer) => Buffer])[] = [
    ['all garbage', (bytes) => Buffer.alloc(bytes.length, 'garbage ')],
    ['a header of nothing', (bytes) => Buffer.concat([Buffer.alloc(100), bytes.subarray(100)])],
    ['garbage in the middle', (bytes) => bytes.fill(0x99, 4096 * 3, 4096 * 30)],
    ['half of it gone', (bytes) => bytes.subarray(0, Math.floor(bytes.length / 8192) * 4096)],
    ['text', () => Buffer.from('this is not a database, it is a note of somebody')],
  ]

  it.each(damages)('(%s) is put aside whole, and an empty one takes its place', async (_name, harm) => {
    await filled()
    const harmed = harm(readFileSync(ground.file))
    writeFileSync(ground.file, harmed)
    const store = await ground.open()
    expect(store.quarantined).toMatch(/glovebox\.db\.damaged-/)
    expect(readFileSync(store.quarantined!).equals(harmed)).toBe(true)
    expect(await store.execs.count({})).toBe(0)
    expect(await answer(store.execs.insert(execRow()))).toBe('done')
    await store.close()
    const again = await ground.open()
    expect(again.quarantined).toBeUndefined()
    expect(await again.execs.count({})).toBe(1)
  })

  it.each(damages)('(%s) is refused and left as it is by who cannot make the index anew', async (_name, harm) => {
    await filled()
    const harmed = harm(readFileSync(ground.file))
    writeFileSync(ground.file, harmed)
    await expect(ground.open({ onDamage: 'refuse' })).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      hint: expect.stringContaining('glovebox reindex') as string,
    })
    expect(ground.names().filter((name) => name.includes('.damaged-'))).toEqual([])
    expect(readFileSync(ground.file).equals(harmed)).toBe(true)
    expect((await ground.open()).quarantined).toBeDefined()
  })

  it('is told of at every opening until its index is made anew, since whoever was to do that may be killed', async () => {
    await filled()
    writeFileSync(ground.file, 'garbage')
    const { quarantined } = await ground.open()
    const second = await ground.open()
    expect([second.quarantined, second.unindexedSince]).toEqual([undefined, quarantined])
    second.indexed()
    expect((await ground.open()).unindexedSince).toBeUndefined()
  })

  it('is put aside once, however many open it at once', async () => {
    await filled()
    writeFileSync(ground.file, Buffer.alloc(8192, 'garbage '))
    const stores = await Promise.all(Array.from({ length: 4 }, () => ground.open()))
    expect(stores.filter(({ quarantined }) => quarantined !== undefined)).toHaveLength(1)
    await stores[0]!.tokens.insert(tokenRow('t'))
    for (const store of stores) expect(await store.tokens.count()).toBe(1)
    expect(ground.names().filter((name) => /\.damaged-[\w-]+Z-[0-9a-f]{6}$/.test(name))).toHaveLength(1)
  })

  it('that is damaged while it is open is answered for as unavailable, and nothing crashes', async () => {
    await filled()
    const store = await ground.open()
    copyFileSync(ground.file, `${ground.file}.copy`)
    damage()
    const answers = await Promise.all([
      answer(store.execs.list({ project_id: 'p1' }, { limit: 1000 })),
      answer(store.tokens.insert(tokenRow('t'))),
    ])
    for (const each of answers) expect(['done', 'STORE_UNAVAILABLE']).toContain(each)
    expect(answers).toContain('STORE_UNAVAILABLE')
    await store.close()
    expect((await ground.open()).quarantined).toBeDefined()
    expect(existsSync(`${ground.file}.copy`)).toBe(true)
  })

  it('that is damaged while it is open is not told as healthy, however much of it is remembered', async () => {
    await filled()
    const store = await ground.open()
    expect(await answer(store.health())).toBe('done')
    damage()
    expect(await answer(store.health())).toBe('STORE_UNAVAILABLE')
  })
})

describe('a SQLite file that is no longer in its place', () => {
  const gone: readonly (readonly [string, () => Promise<unknown> | void])[] = [
    [
      'put aside as damaged by another process',
      async () => {
        damage()
        expect((await ground.open()).quarantined).toBeDefined()
      },
    ],
    [
      'replaced by a copy',
      () => {
        copyFileSync(ground.file, `${ground.file}.copy`)
        renameSync(`${ground.file}.copy`, ground.file)
      },
    ],
    ['taken away', () => rmSync(ground.file)],
  ]

  it.each(gone)('(%s) is neither read nor written any more by who has it open', async (_how, go) => {
    await filled()
    const store = await ground.open()
    expect(await store.execs.count({})).toBe(300)
    await go()
    const asked = [() => store.tokens.count(), () => store.tokens.insert(tokenRow('after')), () => store.health()]
    for (const ask of asked)
      await expect(ask()).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
        hint: expect.stringContaining('start the server again') as string,
      })
    await store.close()
    const now = await ground.open()
    expect(await answer(now.tokens.insert(tokenRow('later')))).toBe('done')
    expect((await now.tokens.list({}, { limit: 10 })).rows.map(({ name }) => name)).not.toContain('after')
  })

  it('is not taken away from who put a new one in its place by the one that had it open', async () => {
    await filled()
    const first = await ground.open()
    damage()
    const second = await ground.open()
    expect(second.quarantined).toBeDefined()
    await second.tokens.insert(tokenRow('after'))
    await ground.release(first)
    await second.tokens.insert(tokenRow('later'))
    const third = await ground.open()
    expect(await third.tokens.count()).toBe(2)
  })
})
