// Which run a person means: a directory, a run's id, or the beginning of one, looked for among the runs of a root. Never a
// guess: a beginning that several share is refused with their names.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { idSchema } from '../../contract/run.ts'
import { GloveboxError } from '../../errors/error.ts'
import { suggest } from '../../errors/suggest.ts'
import { isErrno } from '../../paths/refusal.ts'
import { asStorageError } from '../../runs/storage-error.ts'

const customaryRoot = 'runs'
const toldCandidates = 10

export interface Where {
  /** Relative names begin here. */
  readonly directory: string
  /** Where runs lie beside each other. Default: `runs` in that directory. */
  readonly root?: string | undefined
}

export interface RunPlace {
  readonly directory: string
  /** Of the directory: what can be called without knowing the id. */
  readonly name: string
  /** Of run.json. Null where it cannot be read; then only the directory's name serves. */
  readonly runId: string | null
}

export const rootOf = ({ directory, root }: Where): string => resolve(directory, root ?? customaryRoot)

/** The directory of the run. NOT_FOUND, or INVALID_INPUT when it could be several. */
export function locateRun(asked: string, where: Where): string {
  const named = resolve(where.directory, asked)
  if (asked !== '' && isRun(named)) return named
  if (asked === '' || asked.includes('/') || asked === '.' || asked === '..') throw noRun(asked, [])
  const { runs } = listPlaces(where)
  const exact = runs.filter(({ name, runId }) => runId === asked || name === asked)
  const meant = exact.length > 0 ? exact : runs.filter((run) => namesOf(run).some((name) => name.startsWith(asked)))
  const [one, another] = meant
  if (one === undefined) throw noRun(asked, runs)
  if (another !== undefined) throw several(asked, meant)
  return one.directory
}

export interface Places {
  readonly root: string
  readonly runs: readonly RunPlace[]
  /** Names of entries that are no runs. */
  readonly others: readonly string[]
}

/** Without a root of one's own naming, a missing one is simply empty. */
export function listPlaces(where: Where): Places {
  const root = rootOf(where)
  const names = namesIn(root, { mayBeMissing: where.root === undefined })
  // A name with a dot in front is no id: a run that is just being made, or something else's.
  const visible = names.filter((name) => !name.startsWith('.')).toSorted()
  const isOne = new Set(visible.filter((name) => isRun(join(root, name))))
  return {
    root,
    runs: visible.filter((name) => isOne.has(name)).map((name) => placeOf(join(root, name))),
    others: visible.filter((name) => !isOne.has(name)),
  }
}

function namesIn(root: string, { mayBeMissing }: { readonly mayBeMissing: boolean }): readonly string[] {
  try {
    return readdirSync(root)
  } catch (error) {
    if (mayBeMissing && isErrno(error, 'ENOENT')) return []
    throw asStorageError(error, 'look for runs')
  }
}

/** One whose files may not be looked at counts: it is told, and not passed over. */
function isRun(directory: string): boolean {
  try {
    return ['events.jsonl', 'run.json'].some((name) =>
      statSync(join(directory, name), { throwIfNoEntry: false })?.isFile(),
    )
  } catch (error) {
    return isErrno(error, 'EACCES')
  }
}

function placeOf(directory: string): RunPlace {
  return { directory, name: basename(directory), runId: runIdOf(directory) }
}

/** Not more of run.json than its id: whether the rest is sound matters to those who use it, not to a name. */
function runIdOf(directory: string): string | null {
  try {
    const read: unknown = JSON.parse(readFileSync(join(directory, 'run.json'), 'utf8'))
    const id =
      typeof read === 'object' && read !== null && 'run_id' in read ? idSchema.safeParse(read.run_id) : undefined
    return id?.success === true ? id.data : null
  } catch {
    return null
  }
}

const namesOf = ({ name, runId }: RunPlace): readonly string[] => (runId === null ? [name] : [name, runId])
const titleOf = ({ name, runId }: RunPlace): string =>
  runId === null || runId === name ? name : `${runId} (in ${name})`

function noRun(asked: string, runs: readonly RunPlace[]): GloveboxError {
  const near = suggest(asked, runs.flatMap(namesOf))
  const hint =
    near !== undefined
      ? `Did you mean "${near}"?`
      : '`glovebox runs list` shows those in ./runs. For others name the directory, or use --root.'
  return new GloveboxError(
    'NOT_FOUND',
    `Cannot find the run "${asked}": there is no such directory, id or beginning of one`,
    {
      hint,
    },
  )
}

function several(asked: string, meant: readonly RunPlace[]): GloveboxError {
  const told = meant.slice(0, toldCandidates).map(titleOf)
  const more = meant.length > told.length ? `, and ${meant.length - told.length} more` : ''
  return new GloveboxError('INVALID_INPUT', `Cannot tell which run "${asked}" means: ${meant.length} runs begin so`, {
    hint: `Write more of it: ${told.join(', ')}${more}.`,
    facts: { candidates: meant.map(({ directory }) => basename(directory)) },
  })
}
