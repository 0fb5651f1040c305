import { mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { databaseOver } from '../dialect.ts'
import { openCommits, type Commits } from './commits.ts'
import { openConnection, type Connection } from './connection.ts'
import { watchPlace } from './in-place.ts'

describe('group commits', () => {
  let directory: string
  let connection: Connection
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'glovebox-commits-'))
    connection = openConnection(join(directory, 'db'), { readOnly: false })
    connection.exec('create table notes (text text)')
  })
  afterEach(() => {
    connection.close()
    rmSync(directory, { recursive: true, force: true })
  })
  const commitsOver = (over: Connection): Commits =>
    openCommits(
      over,
      databaseOver('sqlite', async (text, values) => over.run(text, values)),
      { waitMs: 1000, refuseReplaced: watchPlace(join(directory, 'db')) },
    )
  const write = (commits: Commits, text: string): Promise<unknown> =>
    commits.write((database) => sql`insert into notes values (${text})`.execute(database))
  const notes = (): unknown => connection.run('select text from notes', []).rows

  it('tell each that waits for a batch which can be neither committed nor taken back, and go on after it', async () => {
    const failing = new Set(['commit', 'rollback'])
    const broken = {
      ...connection,
      exec: exec,
      get inTransaction() {
        return connection.inTransaction
      },
    }
    function exec(text: string): void {
      if (failing.delete(text)) throw new Error(`the disk failed at ${text}`)
      connection.exec(text)
    }
    const commits = commitsOver(broken)
    const told = await Promise.allSettled([write(commits, 'a'), write(commits, 'b')])
    expect(told.map((each) => each.status === 'rejected' && String(each.reason))).toEqual(
      told.map(() => 'Error: the disk failed at commit'),
    )
    expect(failing.size).toBe(0)
    await write(commits, 'c')
    expect(notes()).toEqual([{ text: 'c' }])
  })

  it('do not answer for what was committed to a file that was put aside meanwhile', async () => {
    const commits = commitsOver(connection)
    const written = commits.write(async (database) => {
      await sql`insert into notes values ('a')`.execute(database)
      renameSync(join(directory, 'db'), join(directory, 'aside'))
    })
    await expect(written).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await expect(write(commits, 'b')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(notes()).toEqual([{ text: 'a' }])
  })
})
