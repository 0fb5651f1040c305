// Notes what is asked when it begins and when it has ended. Nothing waits for a note, and nothing is refused because of one.
import type { LiveCatalog } from '../../catalog/catalog.ts'
import type { Deed, DeedResult } from '../../catalog/journal.ts'
import { isGloveboxError } from '../../errors/error.ts'

export async function noted<Answer>(
  catalog: Pick<LiveCatalog, 'begin'>,
  deed: Deed,
  work: () => Promise<Answer>,
  resultOf: (answer: Answer) => DeedResult,
): Promise<Answer> {
  const end = catalog.begin(deed)
  try {
    const answer = await work()
    end.ended(resultOf(answer))
    return answer
  } catch (error) {
    end.refused(isGloveboxError(error) ? error.code : 'INTERNAL')
    throw error
  }
}
