// What a model may still use, as lines that its agent can read.
import type { CatalogBudgetLine } from '../../contract/catalog.ts'
import type { Clock } from './clock.ts'
import type { ModelOptions } from './options.ts'
import { totalTokens, type Tally } from './session.ts'

export interface Spending {
  readonly options: Pick<ModelOptions, 'maxSteps' | 'maxTokens' | 'timeoutMs'>
  readonly tally: Tally
  readonly clock: Pick<Clock, 'left'>
}

/** The step that is under way counts as used; its tokens are known when it has ended. */
export function budgetLines(
  { options, tally, clock }: Spending,
  now: number = Date.now(),
): readonly CatalogBudgetLine[] {
  const { ms, stands } = clock.left()
  const leftMs = Math.round(ms)
  return [
    line('model_steps', 'count', options.maxSteps, tally.steps),
    line('model_tokens', 'tokens', options.maxTokens, totalTokens(tally)),
    {
      ...line('model_time', 'ms', options.timeoutMs, options.timeoutMs - leftMs),
      // While a person is waited for, nobody knows when it will be.
      endsAt: stands ? null : new Date(now + leftMs).toISOString(),
    },
  ]
}

const line = (what: string, unit: string, limit: number, used: number): CatalogBudgetLine => ({
  what,
  unit,
  limit,
  used,
  left: Math.max(0, limit - used),
  endsAt: null,
})
