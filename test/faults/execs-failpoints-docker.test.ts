// A server with containers that ends at each step of an exec's life, as kill -9 would end it there. What runs in a container outlives it, and
// what has ended there is kept until its end is written down: so no exec is LOST, whatever the step.
import { describe, expect, it } from 'vitest'
import { isRequired } from '../conformance/required.ts'
import { dockerHasImage, dockerHasRuntime, execTarget, runscImage } from './exec-targets.ts'
import { killedAt, stepsOfOne } from './killed-exec-server.ts'

const exitCode = 7
const trueEnd = { status: 'FAILED', error_reason: 'exit_nonzero', exit_code: exitCode } as const
const isHere = dockerHasImage('glovebox/sandbox:latest')
const gvisorIsHere = dockerHasRuntime('runsc') && dockerHasImage(runscImage)

describe.skipIf(!isHere && !isRequired('docker'))(
  'a server with containers that is killed at a step of an exec',
  () => {
    const target = execTarget('docker')
    it.each(stepsOfOne)(
      'at %s: one exec with its true end and all of its output, and nothing is left',
      async (name) => {
        const { wasReached, faults, end } = await killedAt(name, { target, exitCode })
        expect([wasReached, faults]).toEqual([true, []])
        expect(end).toMatchObject(trueEnd)
      },
    )
  },
)

describe.skipIf(!gvisorIsHere && !isRequired('docker-runsc'))(
  'a server with gVisor that is killed at a step of an exec',
  () => {
    const target = execTarget('docker-runsc')
    // Before anything of it is there, when the command has ended, and when its files are written.
    it.each(['exec.start.beforeCreate', 'exec.end.beforeRecord', 'exec.end.beforeMeta'] as const)(
      'at %s: one exec with its true end and all of its output, and nothing is left',
      async (name) => {
        const { wasReached, faults, end } = await killedAt(name, { target, exitCode })
        expect([wasReached, faults]).toEqual([true, []])
        expect(end).toMatchObject(trueEnd)
      },
    )
  },
)
