// What each step that was released says to each engine, word for word. The suite of the store makes its databases of earlier versions with
// these same steps, so it would not see that one was edited; databases out there were made by the step as it was.
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { databaseOver } from '../dialect.ts'
import { migrations } from './migrate.ts'
import { textOf, type Migration, type Schema } from './schema.ts'

type Kind = 'sqlite' | 'postgres'

/** By engine and then by step. Whoever adds a step adds what it says; nothing that is here changes. */
const released = JSON.parse(
  readFileSync(new URL('../../../test/fixtures/released-ddl.json', import.meta.url), 'utf8'),
) as Readonly<Record<Kind, readonly (readonly string[])[]>>

async function saidBy(step: Migration, kind: Kind): Promise<readonly string[]> {
  const said: string[] = []
  const database = databaseOver(kind, async (text, values) => {
    said.push(values.length === 0 ? text : `${text} ${JSON.stringify(values)}`)
    return { rows: [], affected: 0 }
  })
  await step({ database: database as unknown as Schema['database'], text: textOf(kind) }, kind)
  return said.map((text) => text.replaceAll(/\s+/g, ' '))
}

describe.each(['sqlite', 'postgres'] as const)('steps of the schema on %s', (kind) => {
  it('say what they said when they were released', async () => {
    expect(await Promise.all(migrations.map((step) => saidBy(step, kind)))).toEqual(released[kind])
  })
})
