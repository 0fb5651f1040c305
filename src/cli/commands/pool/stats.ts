// `glovebox stats`: what sandboxes take of this host, or what the pool of a server has done and has left.
import type { PoolStats } from '../../../client/lifetimes.ts'
import { openKeeper } from '../../../runtime/pool/keeping.ts'
import { serverAsked } from '../../../runtime/remote.ts'
import { jsonLine, printable, table } from '../../output.ts'
import type { Doing } from '../../program.ts'
import { connectTo } from '../remote/connect.ts'
import { formatBytes } from '../../units.ts'
import { damagedRemark, toldHere, type PoolFlags } from './told.ts'

export const stats = (flags: PoolFlags, doing: Doing): Promise<number> =>
  serverAsked(flags) === undefined ? here(flags, doing) : there(flags, doing)

async function here(flags: PoolFlags, { face, directory }: Doing): Promise<number> {
  const keeper = await openKeeper(directory)
  try {
    const rows: string[][] = []
    let total = 0
    const all = await keeper.list()
    for (const seen of all) {
      const { bytes, entries, truncated } = await keeper.size(seen.id)
      total += bytes
      if (flags.json === true) await face.out.write(jsonLine({ ...toldHere(seen), bytes, entries, truncated }))
      rows.push([seen.id, seen.state, `${truncated ? '>' : ''}${formatBytes(bytes)}`, String(entries)])
    }
    if (flags.json === true) return 0
    const head = ['ID', 'STATE', 'DISK', 'ENTRIES']
    if (rows.length > 0) await face.out.write(`${table([head, ...rows]).join('\n')}\n`)
    await face.err.write(
      `glovebox: ${rows.length} ${rows.length === 1 ? 'sandbox' : 'sandboxes'}, ${formatBytes(total)}.\n`,
    )
    await face.err.write(damagedRemark(all))
    return 0
  } finally {
    await keeper.close()
  }
}

async function there(flags: PoolFlags, doing: Doing): Promise<number> {
  const pool = await connectTo(flags, doing).sandboxes.pool()
  const { out } = doing.face
  if (flags.json === true) await out.write(jsonLine(pool))
  else {
    const told = (counts: Readonly<Record<string, number>>): string =>
      Object.entries(counts)
        .map(([name, count]) => `${count} ${name}`)
        .join(', ')
    const rows = [
      ['places', `${pool.used} of ${pool.replicas} taken, ${pool.waiting} waited for`],
      ['sandboxes', `${pool.active} active, ${pool.warm} warm`],
      ['made ahead', toldAhead(pool.ahead)],
      ['acquired', told(pool.acquired)],
      ['ended', told(pool.ended)],
      ['replaced', String(pool.replaced)],
      ['lost', String(pool.lost)],
    ]
    await out.write(`${table(rows.map((row) => row.map(printable))).join('\n')}\n`)
  }
  return 0
}

function toldAhead({ ready, wanted, failed, why }: PoolStats['ahead']): string {
  const now = `${ready} of ${wanted} ready`
  if (failed === 0) return now
  return `${now}, ${failed} could not be made${why === null ? '' : ` (the last one: ${why})`}`
}
