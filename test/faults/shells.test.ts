// Persistent shells in a host process that is killed, and in one that uses them a lot. The long form is `script/campaign shells`.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isRequired } from '../conformance/required.ts'
import { faultGround, starters, type FaultGround } from './ground.ts'
import { backendsHere, killHolder, runMarathon } from './shell-hosts.ts'

const here = backendsHere()

describe.skipIf(process.platform !== 'linux')('persistent shells', () => {
  for (const starter of starters) {
    describe(`of a host process started by ${starter}`, () => {
      let ground: FaultGround
      beforeAll(() => void (ground = faultGround(starter)))
      afterAll(() => ground.remove())

      for (const backend of ['bwrap', 'local', 'docker'] as const) {
        const isHere = here.includes(backend) && (backend !== 'docker' || starter === 'root')
        const why = isHere ? '' : ' [not run: no Docker daemon that this user may speak to]'
        const runs = isHere || (isRequired(backend) && starter === 'root')

        it.skipIf(!runs)(`kill -9 leaves nothing of what ran in them: ${backend}${why}`, async () => {
          const { met, survivors } = await killHolder(ground, backend)
          // The control: jobs, the current command and what left its session were alive, in three shells.
          expect(met).toBeGreaterThanOrEqual(5)
          expect(survivors).toEqual([])
        })

        it.skipIf(!runs)(
          `many commands and many shells lose nothing and leave nothing open: ${backend}${why}`,
          async () => {
            const report = await runMarathon(ground, { backend, commands: 300, shells: 8 })
            expect(report.faults).toEqual([])
            expect(report.descriptors.after).toBeLessThanOrEqual(report.descriptors.before)
          },
        )
      }
    })
  }
})
