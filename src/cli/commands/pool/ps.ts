// `glovebox ps`: the sandboxes that are kept, here or on a server.
import { openKeeper } from '../../../runtime/pool/keeping.ts'
import { serverAsked } from '../../../runtime/remote.ts'
import { jsonLine } from '../../output.ts'
import type { Doing } from '../../program.ts'
import { connectTo } from '../remote/connect.ts'
import { asTable, damagedRemark, toldHere, toldThere, type PoolFlags, type ToldSandbox } from './told.ts'

export async function ps(flags: PoolFlags, doing: Doing): Promise<number> {
  const found = serverAsked(flags) === undefined ? await here(doing) : await there(flags, doing)
  const listed = found.toSorted((one, other) => (ageKey(one) < ageKey(other) ? 1 : -1))
  const { out, err } = doing.face
  if (flags.json === true) await out.write(listed.map(jsonLine).join(''))
  else if (flags.quiet === true) await out.write(listed.map(({ id }) => `${id}\n`).join(''))
  else if (listed.length > 0) await out.write(asTable(listed))
  if (flags.json !== true && flags.quiet !== true) await err.write(damagedRemark(listed))
  if (listed.length === 0) await err.write('glovebox: No sandboxes are kept.\n')
  return 0
}

/** Of two of one moment the id decides. */
const ageKey = ({ createdAt, id }: ToldSandbox): string => `${createdAt ?? ''} ${id}`

async function here({ directory }: Doing): Promise<readonly ToldSandbox[]> {
  const keeper = await openKeeper(directory)
  try {
    return (await keeper.list()).map(toldHere)
  } finally {
    await keeper.close()
  }
}

async function there(flags: PoolFlags, doing: Doing): Promise<readonly ToldSandbox[]> {
  const listed: ToldSandbox[] = []
  for await (const summary of connectTo(flags, doing).sandboxes.each()) listed.push(toldThere(summary))
  return listed
}
