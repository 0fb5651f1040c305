// `glovebox runs open`: where the files of a run lie on this host, for the operator's own programs.
import { GloveboxError } from '../../../errors/error.ts'
import { didYouMean } from '../../../errors/suggest.ts'
import { placeIn, runDirectories, runFiles } from '../../../runs/layout.ts'
import { refuseOther } from '../../../runs/reader.ts'
import { jsonLine, table } from '../../output.ts'
import type { Doing } from '../../program.ts'
import type { RunsFlags } from './told.ts'

const parts = [...runDirectories, ...runFiles] as const
const shown = ['workspace', 'deliverables', 'transcript.md', 'prompt.md'] as const

export async function runsOpen(
  directory: string,
  part: string | undefined,
  flags: RunsFlags,
  { face }: Doing,
): Promise<number> {
  refuseOther(directory)
  const places = part === undefined ? shown : [partOf(part)]
  const found = { directory, ...Object.fromEntries(places.map((name) => [name, placeIn(directory, name)])) }
  if (flags.json === true) await face.out.write(jsonLine(found))
  else if (part !== undefined) await face.out.write(`${placeIn(directory, partOf(part))}\n`)
  else await face.out.write(`${table(Object.entries(found)).join('\n')}\n`)
  return 0
}

function partOf(asked: string): (typeof parts)[number] {
  const part = parts.find((name) => name === asked)
  if (part !== undefined) return part
  throw new GloveboxError('INVALID_INPUT', `Cannot open "${asked}": a run has no such part`, {
    hint: didYouMean(asked, parts),
  })
}
