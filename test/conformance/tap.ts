// Reads just enough of node:test's TAP to tell of each case how it ended, and why something was skipped or failed.

export interface TapCase {
  readonly outcome: 'passed' | 'skipped' | 'failed'
  /** Why it was skipped or failed. */
  readonly reason: string
}

const endOfDetails = /^\s*\.\.\.$/
const skipped = / # SKIP\b.*$/
const whySkipped = / \[skipped: (.*)\]$/

/** By title. */
export function readTap(text: string): ReadonlyMap<string, TapCase> {
  const lines = text.split('\n')
  return new Map(
    lines.flatMap((line, index): readonly [string, TapCase][] => {
      const match = /^\s*(not ok|ok) \d+ - (.*)$/.exec(line)
      if (match === null) return []
      const rest = lines.slice(index + 1)
      const details = rest.slice(
        0,
        rest.findIndex((each) => endOfDetails.test(each)),
      )
      if (details.some((each) => /type: 'suite'/.test(each))) return []
      return [readCase(match[1] === 'ok', match[2] ?? '', details.join('\n'))]
    }),
  )
}

function readCase(isOk: boolean, said: string, details: string): [string, TapCase] {
  const title = said.replace(skipped, '').replaceAll(/\\([\\#])/g, '$1')
  if (!isOk) return [title, { outcome: 'failed', reason: details.slice(0, 1500) }]
  if (!skipped.test(said)) return [title, { outcome: 'passed', reason: '' }]
  const [, reason = ''] = whySkipped.exec(title) ?? []
  return [title.replace(whySkipped, ''), { outcome: 'skipped', reason }]
}
