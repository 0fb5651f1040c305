// Reads just enough of node:test's TAP to tell what passed and why something did not.

export interface TapSummary {
  readonly passed: number
  readonly skipped: readonly string[]
  /** Title and reason of each case that failed. */
  readonly failures: readonly string[]
}

const endOfDetails = /^\s*\.\.\.$/

export function readTap(text: string): TapSummary {
  const lines = text.split('\n')
  const cases = lines.flatMap((line, index) => {
    const match = /^\s*(not ok|ok) \d+ - (.*)$/.exec(line)
    if (match === null) return []
    const rest = lines.slice(index + 1)
    const details = rest.slice(
      0,
      rest.findIndex((each) => endOfDetails.test(each)),
    )
    return details.some((each) => /type: 'suite'/.test(each))
      ? []
      : [{ ok: match[1] === 'ok', title: match[2] ?? '', details }]
  })
  const isSkip = ({ title }: { readonly title: string }): boolean => title.includes('# SKIP')
  return {
    passed: cases.filter((each) => each.ok && !isSkip(each)).length,
    skipped: cases.filter(isSkip).map(({ title }) => title),
    failures: cases
      .filter(({ ok }) => !ok)
      .map(({ title, details }) => `${title}\n${details.join('\n').slice(0, 1500)}`),
  }
}
