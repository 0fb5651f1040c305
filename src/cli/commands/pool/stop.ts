// `glovebox stop`: ends what runs in sandboxes, and keeps their files unless they are to go too.
import { GloveboxError } from '../../../errors/error.ts'
import { chooseSandbox, openKeeper } from '../../../runtime/pool/keeping.ts'
import { serverAsked } from '../../../runtime/remote.ts'
import { errorLines, jsonLine } from '../../output.ts'
import type { Doing } from '../../program.ts'
import { connectTo } from '../remote/connect.ts'
import type { SandboxId } from '../../../contract/ids.ts'
import type { PoolFlags } from './told.ts'

/** Where sandboxes are found and ended. */
interface Place {
  readonly all: readonly { readonly id: SandboxId }[]
  end(id: SandboxId): Promise<unknown>
}

export async function stop(asked: readonly string[], flags: PoolFlags, doing: Doing): Promise<number> {
  if ((asked.length === 0) !== (flags.all === true))
    throw new GloveboxError('INVALID_INPUT', 'Cannot stop: name sandboxes, or say --all', {
      hint: '`glovebox ps` shows them.',
    })
  if (asked.some((one) => one.startsWith('sh_')) && serverAsked(flags) === undefined)
    return (await import('../held/stop.ts')).stopShells(asked, flags, doing)
  if (serverAsked(flags) !== undefined) return endAll(await there(flags, doing), asked, flags, doing)
  const remove = flags.remove === true
  const keeper = await openKeeper(doing.directory, { removes: remove })
  try {
    const place = { all: await keeper.list(), end: (id: SandboxId) => keeper.stop(id, { remove }) }
    return await endAll(place, asked, flags, doing)
  } finally {
    await keeper.close()
  }
}

async function there(flags: PoolFlags, doing: Doing): Promise<Place> {
  const { sandboxes } = connectTo(flags, doing)
  const all: { readonly id: SandboxId }[] = []
  for await (const one of sandboxes.each()) all.push(one)
  const remove = async (id: SandboxId): Promise<void> => (await sandboxes.connect(id)).kill()
  return { all, end: flags.remove === true ? remove : (id) => sandboxes.pause(id) }
}

/** One that cannot be stopped does not keep the others from it. */
async function endAll(place: Place, asked: readonly string[], flags: PoolFlags, { face }: Doing): Promise<number> {
  const ids = flags.all === true ? place.all.map(({ id }) => id) : asked.map((one) => chooseSandbox(one, place.all))
  const done = flags.remove === true ? 'removed' : 'stopped'
  let code = 0
  for (const id of new Set(ids)) {
    try {
      await place.end(id)
      await face.out.write(flags.json === true ? jsonLine({ id, [done]: true }) : `${id}\n`)
    } catch (error) {
      code = 1
      if (flags.json === true) await face.out.write(jsonLine({ id, [done]: false }))
      await face.err.write(errorLines(error, { debug: flags.debug === true }))
    }
  }
  if (ids.length === 0) await face.err.write('glovebox: No sandboxes are kept.\n')
  return code
}
