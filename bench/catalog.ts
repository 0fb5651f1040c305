// What the catalog costs: a command in a sandbox that keeps one against a command in one that keeps none, in turn; and the same of
// making a sandbox.
import type { Sandbox } from '../src/contract/sandbox.ts'
import { createSandbox } from '../src/runtime/create.ts'
import { interleave, round } from './interleave.ts'
import { openPlace, type Place } from './place.ts'
import { atMost, type Result } from './result.ts'

const rounds = 1500
const made = 40

const create = (place: Place, name: string, kept: boolean): Promise<Sandbox> =>
  createSandbox({
    layers: [],
    mounts: [{ guestPath: '/workspace', hostPath: place.directory(name) }],
    ...(kept ? {} : { catalog: 'none' }),
  })

export async function catalogBenches(): Promise<readonly Result[]> {
  using place = openPlace()
  await using kept = await create(place, 'kept', true)
  await using none = await create(place, 'none', false)
  const running = (sandbox: Sandbox) => async (): Promise<void> => {
    const { exitCode } = await sandbox.commands.run(['/bin/echo', 'a line'])
    if (exitCode !== 0) throw new Error(`the command ended with ${exitCode}`)
  }
  const exec = await interleave({ kept: running(kept), none: running(none) }, rounds, 50)
  const making = (name: string, isKept: boolean) => async (): Promise<void> => {
    await using _ = await create(place, name, isKept)
  }
  const creation = await interleave({ kept: making('made-kept', true), none: making('made-none', false) }, made)
  return [
    atMost({
      name: 'exec in a sandbox with a catalog ÷ without',
      promise: '≤ 1.05',
      measured: round(exec.kept.medianMs / exec.none.medianMs),
      limit: 1.05,
      unit: 'ratio',
      figures: exec,
    }),
    atMost({
      name: 'making and ending a sandbox with a catalog ÷ without',
      promise: '≤ 1.1',
      measured: round(creation.kept.medianMs / creation.none.medianMs),
      limit: 1.1,
      unit: 'ratio',
      figures: creation,
    }),
  ]
}
