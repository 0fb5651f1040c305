// What a lane has to tell, one line of JSON for each run: lane-reporter.mjs writes those of vitest.
import { existsSync, readFileSync } from 'node:fs'

export function readReport(path) {
  if (!existsSync(path)) return []
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}

export const failedIn = (report) => report.flatMap(({ failed }) => failed)

export const totalOf = (report) => ({
  passed: report.reduce((sum, { passed }) => sum + passed, 0),
  failed: failedIn(report).length,
  skipped: report.reduce((sum, { skipped }) => sum + skipped.length, 0),
})

/** Of something that is no test. */
export const failureLine = (title, output) =>
  `${JSON.stringify({ passed: 0, failed: [{ title, message: output.trimEnd() }], skipped: [] })}\n`
