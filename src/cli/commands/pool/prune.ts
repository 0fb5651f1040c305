// `glovebox prune`: removes what is over, and what nothing needs any more.
import { GloveboxError } from '../../../errors/error.ts'
import { openKeeper, type SeenState } from '../../../runtime/pool/keeping.ts'
import { serverAsked } from '../../../runtime/remote.ts'
import { errorLines, jsonLine } from '../../output.ts'
import type { Doing } from '../../program.ts'
import { formatBytes } from '../../units.ts'
import type { PoolFlags } from './told.ts'

export async function prune(flags: PoolFlags, { face, directory }: Doing): Promise<number> {
  if (serverAsked(flags) !== undefined)
    throw new GloveboxError('INVALID_INPUT', 'Cannot prune a server: it clears away by itself', {
      hint: 'To remove sandboxes there: glovebox stop --remove ID. For those of this host, unset GLOVEBOX_SERVER.',
    })
  const wanted = new Set<SeenState>(['over'])
  for (const state of ['paused', 'resting', 'damaged'] as const) if (flags[state] === true) wanted.add(state)
  const keeper = await openKeeper(directory, { removes: flags.dryRun !== true })
  let code = 0
  try {
    for (const { id, state } of (await keeper.list()).filter((each) => wanted.has(each.state))) {
      const { bytes } = await keeper.size(id)
      try {
        if (flags.dryRun !== true) await keeper.stop(id, { remove: true })
        const line = `${id}  ${state}  ${formatBytes(bytes)}\n`
        await face.out.write(
          flags.json === true ? jsonLine({ id, state, bytes, removed: flags.dryRun !== true }) : line,
        )
      } catch (error) {
        code = 1
        await face.err.write(errorLines(error, { debug: flags.debug === true }))
      }
    }
    const snapshots = flags.dryRun === true ? 0 : await keeper.sweep()
    if (snapshots > 0) await face.err.write(`glovebox: ${snapshots} snapshots that nothing stood on are gone too.\n`)
    return code
  } finally {
    await keeper.close()
  }
}
