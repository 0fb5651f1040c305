// Watches the table of leases while servers fight for it: tokens only rise, and a new owner always comes with a higher one.
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'

export interface TokensSeen {
  readonly grants: number
  readonly handovers: number
  readonly faults: readonly string[]
}

export interface TokenWatch {
  /** Once more, now. */
  look(): Promise<void>
  stop(): Promise<TokensSeen>
}

interface Row {
  readonly id: string
  readonly owner: string
  readonly token: string
}

const pauseMs = 40

export async function watchTokens(url: string): Promise<TokenWatch> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const last = new Map<string, { readonly owner: string; readonly token: bigint }>()
  const faults: string[] = []
  let [grants, handovers, isOver] = [0, 0, false]

  const judge = ({ id, owner, token: text }: Row): void => {
    const token = BigInt(text)
    const before = last.get(id)
    last.set(id, { owner, token })
    if (before === undefined || before.token < token) grants += 1
    if (before === undefined) return
    if (token < before.token) faults.push(`the token of ${id} fell from ${before.token} to ${token}`)
    if (owner === before.owner) return
    handovers += 1
    if (token === before.token) faults.push(`${id} changed hands under the token ${token}`)
  }
  const look = async (): Promise<void> => {
    const { rows } = await client.query<Row>('select id, owner, token::text as token from leases')
    rows.forEach(judge)
  }
  const watching = (async () => {
    while (!isOver) {
      await look()
      await delay(pauseMs)
    }
  })()
  return {
    look,
    async stop() {
      isOver = true
      await watching
      await client.end()
      return { grants, handovers, faults }
    },
  }
}
