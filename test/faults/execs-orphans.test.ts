// A server that is killed with execs in containers, and whose state is lost with it: what it left running is found by the name that lies
// with its data, and ended. What another installation has on the same Docker stays as it is.
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isRequired } from '../conformance/required.ts'
import { shell } from '../fixtures/exec-server.ts'
import { containersAt, dockerHasImage, execTarget } from './exec-targets.ts'
import { serversOn, until } from './lasting-execs.ts'

const live = 20
const isHere = dockerHasImage('glovebox/sandbox:latest')

describe.skipIf(!isHere && !isRequired('docker'))('containers of a server that was killed', () => {
  const start = serversOn(execTarget('docker'))
  const settings = `sandbox:\n  max_concurrent_execs: ${live}\n`

  it('and lost its state, too, are ended by the next one on its data, and no others', async () => {
    const other = await start()
    await other.begin(shell('sleep 300'))
    await until(() => containersAt(other.place).length === 1)
    const [others] = containersAt(other.place)

    const first = await start({ settings })
    const name = (): string => readFileSync(join(first.place, 'state/docker/installation'), 'utf8')
    const before = name()
    for (let begun = 0; begun < live; begun += 1) await first.begin(shell('sleep 300'))
    await until(() => containersAt(first.place).length === live)
    await first.kill()
    rmSync(join(first.place, 'state'), { recursive: true })
    rmSync(join(first.place, 'token'))

    await start({ place: first.place })
    expect(name()).toBe(before)
    await until(() => containersAt(first.place).length === 0)
    expect(containersAt(other.place)).toEqual([others])
  })
})
