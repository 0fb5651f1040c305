// Tokens for whoever sits at the machine: the database is opened for one piece of work, and changes are recorded as his. A damaged
// one is refused and left as it is: who puts it aside must index the files anew, and that is not done here.
import { openAudit } from '../audit.ts'
import { stateHome } from '../state.ts'
import { databaseUrl } from './place.ts'
import { openTokenDesk, type TokenDesk } from './tokens.ts'

export interface TokenWork {
  readonly desk: TokenDesk
  /** A change: its intent is recorded before it is made. The subject is kept for ever, so it is never what was typed to be looked up. */
  readonly recorded: <Value>(action: string, subject: string, change: () => Promise<Value>) => Promise<Value>
}

export async function withTokens<Value>(work: (tokens: TokenWork) => Promise<Value>): Promise<Value> {
  const state = stateHome()
  const { openStore } = await import('../../store/open.ts')
  const store = await openStore({ url: databaseUrl(state) })
  try {
    return await work({
      desk: openTokenDesk(store.tokens),
      async recorded(action, subject, change) {
        await using audit = await openAudit(state)
        return await audit.perform({ actor: 'operator', action, subject: subject.slice(0, 200) }, change)
      },
    })
  } finally {
    await store.close()
  }
}
