// Servers that share a database and its sandboxes are killed and stopped at random. The long form is `script/campaign pool-servers`.
import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { isRequired } from '../conformance/required.ts'
import { whyNoPostgres } from '../fixtures/postgres.ts'
import { judgeJournal } from './pool-journal.ts'
import { runServers } from './pool-servers.ts'

const image = 'glovebox/sandbox:latest'
const hasDocker = spawnSync('docker', ['image', 'inspect', image]).status === 0
const short = { servers: 2, keys: 3, callers: 3, durationMs: 5000, leaseSeconds: 1.5, seed: 7 }

describe('what commands write', () => {
  const of = (name: string, ...what: readonly string[]): string => what.map((each) => `${name} ${each}\n`).join('')

  it('the control: commands of two servers that overlap are told, and so is one that was answered and is not there', () => {
    const apart = of('c1n1p10', 'begin', '1', 'end') + of('c1n2p20', 'begin', 'end')
    expect(judgeJournal(apart, ['c1n1p10', 'c1n2p20'])).toEqual([])
    const together = of('c1n1p10', 'begin') + of('c2n1p10', 'begin', 'end') + of('c1n1p10', 'end')
    expect(judgeJournal(together, []), 'of one server').toEqual([])
    const mixed = of('c1n1p10', 'begin') + of('c1n2p20', 'begin') + of('c1n1p10', '1')
    expect(judgeJournal(mixed, [])).toHaveLength(1)
    expect(judgeJournal(of('c1n1p10', 'begin'), ['c1n1p10'])).toHaveLength(1)
    expect(judgeJournal('c1n1p10 be\n', [])).toHaveLength(1)
  })
})

describe.skipIf(whyNoPostgres !== undefined && !isRequired('postgres'))('servers on one PostgreSQL', () => {
  it.skipIf(!hasDocker && !isRequired('docker'))(
    'a sandbox on docker has at most one owner at any time, tokens only rise, and nothing is lost or left',
    async () => {
      const report = await runServers({ ...short, backend: 'docker' })
      expect(report.faults, JSON.stringify(report)).toEqual([])
      expect(report.answered).toBeGreaterThan(0)
      expect(report.kills + report.stops).toBeGreaterThan(0)
    },
  )

  it('a sandbox on bubblewrap has at most one owner at any time, tokens only rise, and nothing is lost or left', async () => {
    const report = await runServers({ ...short, backend: 'bwrap' })
    expect(report.faults, JSON.stringify(report)).toEqual([])
    expect(report.answered).toBeGreaterThan(0)
    expect(report.kills + report.stops).toBeGreaterThan(0)
  })
})
