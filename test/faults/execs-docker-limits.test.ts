// Limits of execs in containers, as the API tells them: what a command leaves beyond its limit, and on gVisor how one ends that asks too much.
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ExecManifest, ExecRecord } from '../../src/contract/exec-record.ts'
import { isRequired } from '../conformance/required.ts'
import { shell, type ExecServer } from '../fixtures/exec-server.ts'
import {
  containersAt,
  dockerHasImage,
  dockerHasRuntime,
  execTarget,
  runscImage,
  spoolsAt,
  spoolsIn,
} from './exec-targets.ts'
import { serversOn, textOf, until } from './lasting-execs.ts'

const isHere = dockerHasImage('glovebox/sandbox:latest')
const gvisorIsHere = dockerHasRuntime('runsc') && dockerHasImage(runscImage)
const limit = 100_000
const at = '/workspace/artifacts'

const untilClean = ({ place }: ExecServer): Promise<void> =>
  until(() => containersAt(place).length === 0 && spoolsIn(spoolsAt(place)).length === 0)

/** What lies there, and what is said to lie there. */
function leftBy(server: ExecServer, exec: ExecRecord) {
  const files = join(server.workspace, exec.artifacts_dir, 'files')
  const names = readdirSync(files, { recursive: true, encoding: 'utf8' }).toSorted()
  const sizes = names.map((name) => statSync(join(files, name))).filter((stats) => stats.isFile())
  const manifest = JSON.parse(textOf(server, `${exec.artifacts_dir}/manifest.json`)) as ExecManifest
  return { names, bytes: sizes.reduce((sum, { size }) => sum + size, 0), manifest }
}

describe.skipIf(!isHere && !isRequired('docker'))('an exec in a container that leaves more than it may', () => {
  const start = serversOn(execTarget('docker'))

  it('has failed, whether that is seen while it runs or at its end, and what is beyond the limit is gone', async () => {
    const server = await start()
    const policy_overrides = { max_artifacts_bytes_total: limit }
    const write = (bytes: number, name: string): string => `head -c ${bytes} /dev/zero > ${at}/${name}`
    const [small, quick, endless] = await Promise.all([
      server.exec({ ...shell(`mkdir ${at}/d; ${write(60_000, 'd/a')}; ${write(40_000, 'b')}`), policy_overrides }),
      server.exec({
        ...shell(`mkdir ${at}/d; ${write(60_000, 'd/a')}; ${write(60_000, 'b')}; exit 5`),
        policy_overrides,
      }),
      server.exec({
        ...shell(`while :; do head -c 9000 /dev/zero >> ${at}/a; sleep 0.01; done`),
        policy_overrides: { ...policy_overrides, timeout_ms: 50_000 },
      }),
    ])
    // Control: one byte less than too much is no fault.
    expect(small).toMatchObject({ status: 'SUCCEEDED', exit_code: 0 })
    expect(leftBy(server, small)).toMatchObject({
      names: ['b', 'd', 'd/a'],
      bytes: limit,
      manifest: { over_limit: false, complete: true, total_bytes: limit },
    })
    const failed = { status: 'FAILED', error_reason: 'artifacts_limit_exceeded' }
    // Whoever looks meanwhile may have seen it a moment before it ended by itself.
    expect(quick).toMatchObject({ ...failed, exit_code: expect.toBeOneOf([5, null]) as unknown })
    expect(endless).toMatchObject({ ...failed, exit_code: null })
    for (const exec of [quick, endless]) {
      const { bytes, manifest } = leftBy(server, exec)
      expect(bytes).toBeLessThanOrEqual(limit)
      expect(manifest).toMatchObject({ over_limit: true, complete: false, total_bytes: bytes })
    }
    // In the order of names, the first that fits stays.
    expect(leftBy(server, quick)).toMatchObject({ names: ['b', 'd'], bytes: 60_000 })
    await untilClean(server)
  })
})

describe.skipIf(!gvisorIsHere && !isRequired('docker-runsc'))('an exec on gVisor', () => {
  const start = serversOn(execTarget('docker-runsc'))

  it('runs Python, runs out of its time and of its memory, and says too much, and each is told', async () => {
    const server = await start()
    const python = (command: string, more: object = {}) => ({
      project_id: 'demo',
      exec: { kind: 'python', command, env: { A: 'b' } },
      ...more,
    })
    const loud = "head -c 3000 /dev/zero | tr '\\0' x; echo after > kept; head -c 9 /dev/zero >&2; exit 5"
    const [code, late, greedy, long] = await Promise.all([
      server.exec(python('import os, sys; print(6*7, os.environ["A"]); sys.exit(3)')),
      server.exec({ ...shell('echo begun; sleep 60'), policy_overrides: { timeout_ms: 8000 } }),
      server.exec(python('x = bytearray(400 * 1024 * 1024)', { policy_overrides: { memory_mb: 96 } })),
      server.exec({ ...shell(loud), policy_overrides: { max_stdout_bytes: 1000 } }),
    ])
    expect(code).toMatchObject({ status: 'FAILED', error_reason: 'exit_nonzero', exit_code: 3, backend: 'docker' })
    expect(textOf(server, code.stdout_path)).toBe('42 b\n')
    expect(late).toMatchObject({ status: 'TIMEOUT', error_reason: 'timeout', exit_code: null })
    expect(textOf(server, late.stdout_path)).toBe('begun\n')
    expect(greedy).toMatchObject({ status: 'OOM', error_reason: 'oom', exit_code: 137 })
    // It went on behind the limit, and ended by itself.
    expect(long).toMatchObject({ status: 'FAILED', exit_code: 5, stdout_truncated: true, stderr_truncated: false })
    expect(textOf(server, long.stdout_path)).toBe('x'.repeat(1000))
    expect(textOf(server, 'projects/demo/work/kept')).toBe('after\n')
    await untilClean(server)
  })
})
