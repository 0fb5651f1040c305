// Comparisons in words. One line each, so that a transcript, an event and a terminal tell the same.
import type { Cause, Comparison, Difference, Tally } from './report.ts'

const causeWords: Readonly<Record<Cause['kind'], string>> = {
  time: 'likely a time',
  random: 'likely a random value',
  process_id: 'likely a process id',
  duration: 'likely a duration',
  environment: 'likely the environment',
  earlier_difference: 'follows an earlier difference',
}

export const causeText = (cause: Cause | null): string =>
  cause === null ? '' : ` (${causeWords[cause.kind]}: ${cause.because})`

const differenceText = ({ part, detail, cause }: Difference): string => `${part}: ${detail}${causeText(cause)}`

export function lineOf(comparison: Comparison): string {
  const { number, action, about, result, reason, differences } = comparison
  const what = action === 'run' ? about : `${action} ${about}`.trimEnd()
  return `#${number} ${what}: ${[outcomes[result], reason, ...differences.map(differenceText)].filter(Boolean).join('; ')}`
}

const outcomes: Readonly<Record<Comparison['result'], string>> = {
  identical: 'identical',
  differs: 'differs',
  not_comparable: 'repeated, not comparable',
  not_repeated: 'not repeated',
}

/** `48 of 50 actions identical; 2 differ.` */
export function summaryOf({ identical, differs, notComparable, notRepeated }: Tally, noun: string): string {
  const total = identical + differs + notComparable + notRepeated
  const parts = [
    `${identical} of ${total} ${total === 1 ? noun : `${noun}s`} identical`,
    ...(differs === 0 ? [] : [`${differs} ${differs === 1 ? 'differs' : 'differ'}`]),
    ...(notComparable === 0 ? [] : [`${notComparable} not comparable`]),
    ...(notRepeated === 0 ? [] : [`${notRepeated} not repeated`]),
  ]
  return `${parts.join('; ')}.`
}

/** Never with half of a surrogate pair at its end. */
export const shortened = (text: string, maxCharacters: number): string =>
  text.length <= maxCharacters ? text : `${text.slice(0, maxCharacters - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
