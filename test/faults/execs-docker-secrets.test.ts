// An exec that is given secrets does not outlive its server, in a container neither: what it says must be redacted before it comes to a disk,
// and nobody could do that while no server is there.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isRequired } from '../conformance/required.ts'
import { makePlace, shell } from '../fixtures/exec-server.ts'
import { filesWith } from '../fixtures/value-search.ts'
import { containersAt, dockerHasImage, execTarget, spoolsAt, spoolsIn } from './exec-targets.ts'
import { ended, serversOn, textOf, until } from './lasting-execs.ts'

const isHere = dockerHasImage('glovebox/sandbox:latest')
const settings = 'vaults: { keys: { directory: keys } }\npolicy: { ceilings: { secrets: [keys/token] } }\n'
const value = 'a-value-that-is-long-enough'

describe.skipIf(!isHere && !isRequired('docker'))('an exec in a container that is given a secret', () => {
  const start = serversOn(execTarget('docker'))

  it('is LOST with its server, is not run again, and leaves no container and no value', async () => {
    const place = makePlace()
    mkdirSync(join(place, 'keys'))
    writeFileSync(join(place, 'keys/token'), value, { mode: 0o600 })
    const first = await start({ place, settings })
    // What could be the beginning of a value is held back until more is said.
    const more = "head -c 500 /dev/zero | tr '\\0' ."
    const run = `echo ran >> ran; wc -c < /run/secrets/token; cat /run/secrets/token; echo; ${more}; sleep 300`
    const policy_overrides = { timeout_ms: 300_000 }
    const secrets = [{ name: 'keys/token', file: 'token' }]
    const exec = await first.begin({
      project_id: 'demo',
      exec: { kind: 'shell', command: run, secrets },
      policy_overrides,
    })
    const said = `${value.length}\n[redacted:keys/token]\n`
    await until(() => textOf(first, exec.stdout_path).startsWith(said))
    // Control: the same without a secret goes on.
    const lasting = await first.begin(shell(`echo begun; ${more}; sleep 300`, { policy_overrides }))
    const hasBegun = (): boolean => textOf(first, lasting.stdout_path).startsWith('begun\n')
    await until(() => hasBegun() && containersAt(place).length > 1)
    // Of the one with the secret nothing is kept for whoever comes next.
    expect(spoolsIn(spoolsAt(place))).toHaveLength(1)
    await first.kill()

    const second = await start({ place })
    const end = { status: 'LOST', error_reason: 'server_crash', exit_code: null }
    expect(await second.until(exec.exec_id, ended)).toMatchObject(end)
    expect(await second.get(lasting.exec_id)).toMatchObject({ status: 'RUNNING' })
    await until(() => containersAt(place).length === 1)
    expect(textOf(second, exec.stdout_path).replace(/\.+$/, '')).toBe(said)
    await second.ask('POST', `/sandbox/execs/${lasting.exec_id}/cancel`)
    expect(await second.until(lasting.exec_id, ended)).toMatchObject({ status: 'CANCELLED' })
    expect(readFileSync(join(second.workspace, 'projects/demo/work/ran'), 'utf8')).toBe('ran\n')
    // The operator's own file alone has it.
    expect(filesWith(place, value)).toEqual([join(place, 'keys/token')])
    await until(() => containersAt(place).length === 0)
  })
})
