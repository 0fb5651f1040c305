import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeRunGround, recordOf, type RunGround } from './run-ground.ts'

const example = fileURLToPath(new URL('../../examples/command-run', import.meta.url))

let ground: RunGround
beforeEach(() => {
  ground = makeRunGround()
  cpSync(example, ground.directory, { recursive: true })
})
afterEach(() => ground.remove())

/** The commands of the README, as they stand there. */
const commands = readFileSync(join(example, 'README.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('glovebox '))
  .map((line) => line.split(' ').slice(1))

describe('examples/command-run', () => {
  it('does what its README says, from the run to its replay', async () => {
    expect(commands.map(([verb, next]) => (verb === 'runs' ? next : verb))).toEqual(['run', 'show', 'verify', 'replay'])
    for (const command of commands) {
      const done = await ground.glovebox(command)
      expect({ command, code: done.code, stderr: done.code === 0 ? '' : done.stderr }).toMatchObject({ code: 0 })
    }
    const directory = ground.place('slow-001')
    expect(recordOf(directory)).toMatchObject({ status: 'completed', profile_id: 'log-report', executor: 'command' })
    const report = readFileSync(join(directory, 'deliverables/report.md'), 'utf8')
    expect(report).toContain('# Requests that took longer than 500 ms')
    expect(report).toContain('- `POST /api/orders`: 3, at most 5012 ms')
    expect(report).toContain('Not understood: line 8.')
    expect(readFileSync(join(directory, 'deliverables/slow.csv'), 'utf8')).toBe(
      'request,count,longest_ms\r\nPOST /api/orders,3,5012\r\nGET /api/search,1,948\r\nGET /api/items,1,612\r\n',
    )
  })
})
