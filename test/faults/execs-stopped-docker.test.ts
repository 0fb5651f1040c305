// The same with a command in a container, which goes on while its server is stopped: the other follows it, and the one that goes on lets go.
import { statSync, writeFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ExecRecord } from '../../src/contract/exec-record.ts'
import { isRequired } from '../conformance/required.ts'
import { dockerHasImage, execTarget, spoolsAt, spoolsIn } from './exec-targets.ts'
import { canStopServers, startStoppedAndWatching, type StoppedAndWatching } from './stopped-server.ts'

const ended = ({ ended_at }: ExecRecord): boolean => ended_at !== null
const isHere = canStopServers && (dockerHasImage('glovebox/sandbox:latest') || isRequired('docker'))

describe.skipIf(!isHere)('a server that is stopped while others follow its execs in containers', () => {
  let servers: StoppedAndWatching
  beforeAll(async () => {
    servers = await startStoppedAndWatching(execTarget('docker').options)
  })
  afterAll(() => servers.remove())

  it('lets go of them when it goes on: they have their own end, and every byte once', async () => {
    const { stopped, watching } = servers
    const counting = 'i=0; while [ ! -e enough ]; do i=$((i+1)); echo "line $i"; sleep 0.02; done; exit 7'
    const exec = await stopped.begin({
      project_id: 'demo',
      // Only the server that took it can begin it.
      exec: { kind: 'shell', command: counting, env: { A: 'b' } },
      policy_overrides: { timeout_ms: 240_000 },
    })
    const stdout = join(watching.workspace, exec.stdout_path)
    const size = (): number => statSync(stdout, { throwIfNoEntry: false })?.size ?? 0
    await expect.poll(size).toBeGreaterThan(100)
    servers.signal('SIGSTOP')
    const atStop = size()
    await expect.poll(size, { timeout: 120_000 }).toBeGreaterThan(atStop)
    servers.signal('SIGCONT')
    // Longer than it takes to hear that it was believed dead.
    await delay(8000)
    const whenHeard = size()
    await expect.poll(size).toBeGreaterThan(whenHeard)
    writeFileSync(join(watching.workspace, 'projects/demo/work/enough'), '')
    expect(await watching.until(exec.exec_id, ended)).toMatchObject({ status: 'FAILED', exit_code: 7 })
    const lines = readFileSync(stdout, 'utf8').split('\n').slice(0, -1)
    expect(lines.filter((line, index) => line !== `line ${index + 1}`)).toEqual([])
    expect(lines.length).toBeGreaterThan(500)
    expect(await stopped.get(exec.exec_id)).toMatchObject({ status: 'FAILED', exit_code: 7 })
    await expect.poll(() => spoolsIn(spoolsAt(watching.place))).toEqual([])
  })
})
