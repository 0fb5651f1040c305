// The same on gVisor: the sandbox outlives the server that started it, and the next one has its true end.
import { describe } from 'vitest'
import { isRequired } from '../conformance/required.ts'
import { dockerHasImage, dockerHasRuntime, execTarget, runscImage } from './exec-targets.ts'
import { itHidesTheEnvironment } from './hidden-environment.ts'
import { itGoesOn, serversOn } from './lasting-execs.ts'

const isHere = dockerHasRuntime('runsc') && dockerHasImage(runscImage)

describe.skipIf(!isHere && !isRequired('docker-runsc'))('execs on gVisor', () => {
  const start = serversOn(execTarget('docker-runsc'))
  itGoesOn(start)
  itHidesTheEnvironment(start, { isGvisor: true })
})
