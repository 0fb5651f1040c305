// A reporter for vitest: one line of JSON for each run, at the end of the file that GLOVEBOX_LANE_REPORT names. It holds the counts, what
// failed with its message, and why something was skipped; see lane-report.mjs.
import { appendFileSync } from 'node:fs'

const pathOf = (test) => `${test.module.relativeModuleId} > ${test.fullName}`

/** What a person needs first: the message, and the line of the test. */
function messageOf(errors) {
  return errors
    .map(({ name, message, diff, stacks = [] }) => {
      const [place] = stacks
      const where = place === undefined ? '' : `\nat ${place.file}:${place.line}:${place.column}`
      return `${name ?? 'Error'}: ${message}${diff === undefined ? '' : `\n${diff}`}${where}`
    })
    .join('\n')
}

// oxlint-disable-next-line import/no-default-export -- vitest asks for it
export default class LaneReporter {
  onTestRunEnd(modules, unhandled) {
    const file = process.env['GLOVEBOX_LANE_REPORT']
    if (file === undefined) return
    const report = { passed: 0, failed: [], skipped: [] }
    for (const module of modules) {
      const faults = [module, ...module.children.allSuites()].flatMap((each) => each.errors())
      if (faults.length > 0) report.failed.push({ title: module.relativeModuleId, message: messageOf(faults) })
      for (const test of module.children.allTests()) {
        const { state, errors = [], note } = test.result()
        if (state === 'passed') report.passed += 1
        else if (state === 'failed') report.failed.push({ title: pathOf(test), message: messageOf(errors) })
        else report.skipped.push({ title: pathOf(test), ...(note === undefined ? {} : { note }) })
      }
    }
    if (unhandled.length > 0) report.failed.push({ title: 'outside of every test', message: messageOf(unhandled) })
    appendFileSync(file, `${JSON.stringify(report)}\n`)
  }
}
