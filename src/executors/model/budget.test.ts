import { describe, expect, it } from 'vitest'
import { catalogBudgetSchema } from '../../contract/catalog.ts'
import { budgetLines, type Spending } from './budget.ts'
import { newTally } from './session.ts'

const spending = (more: Partial<Spending> = {}): Spending => ({
  options: { maxSteps: 10, maxTokens: 1000, timeoutMs: 60_000 },
  tally: { ...newTally(), steps: 3, inputTokens: 400, outputTokens: 50, cachedTokens: 390 },
  clock: { left: () => ({ ms: 45_000.4, stands: false }) },
  ...more,
})

describe('what is left for a model', () => {
  it('is told in steps, tokens and time', () => {
    const lines = budgetLines(spending(), Date.parse('2026-01-01T00:00:00.000Z'))
    expect(lines.map(({ what, limit, used, left }) => [what, limit, used, left])).toEqual([
      ['model_steps', 10, 3, 7],
      ['model_tokens', 1000, 450, 550],
      ['model_time', 60_000, 15_000, 45_000],
    ])
    expect(lines.map(({ endsAt }) => endsAt)).toEqual([null, null, '2026-01-01T00:00:45.000Z'])
    expect(catalogBudgetSchema.shape.left.safeParse(lines).success).toBe(true)
  })

  it('is never less than nothing, and has no end while a person is waited for', () => {
    const tally = { ...newTally(), steps: 10, inputTokens: 5000 }
    const lines = budgetLines(spending({ tally, clock: { left: () => ({ ms: 500, stands: true }) } }))
    expect(lines.map(({ left, endsAt }) => [left, endsAt])).toEqual([
      [0, null],
      [0, null],
      [500, null],
    ])
  })
})
