// Tokens for whoever sits at the machine: the database is opened for one piece of work, and changes are recorded as his.
import { openAudit } from '../audit.ts'
import { stateHome } from '../state.ts'
import { databaseUrl } from './place.ts'
import { openTokenDesk, type TokenDesk } from './tokens.ts'

/** Without an action nothing is changed, and nothing recorded. */
export async function withTokens<Value>(
  action: string | undefined,
  subject: string,
  work: (desk: TokenDesk) => Promise<Value>,
): Promise<Value> {
  const state = stateHome()
  const { openStore } = await import('../../store/open.ts')
  const store = await openStore({ url: databaseUrl(state) })
  try {
    const desk = openTokenDesk(store.tokens)
    if (action === undefined) return await work(desk)
    await using audit = await openAudit(state)
    return await audit.perform({ actor: 'operator', action, subject: subject.slice(0, 200) || 'token' }, () =>
      work(desk),
    )
  } finally {
    await store.close()
  }
}
