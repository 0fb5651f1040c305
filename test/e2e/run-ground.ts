// A project in which `glovebox run` is tried as a person would, with a state home of its own.
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RunEvent } from '../../src/contract/event.ts'
import type { RunRecord } from '../../src/contract/run.ts'
import { type Finished, makeProject, run, start, type Started, type StartOptions } from './command-line.ts'

export const layout = [
  'archive',
  'artifact-manifest.json',
  'config.yaml',
  'deliverables',
  'effective-system-prompt.md',
  'events.jsonl',
  'logs',
  'prompt.md',
  'run.json',
  'sandbox-manifest.json',
  'session.json',
  'task.yaml',
  'transcript.md',
  'workspace',
]

export interface RunGround {
  readonly directory: string
  readonly outside: string
  /** Host path of the run with this name below runs/. */
  place(name: string): string
  glovebox(argv: readonly string[], options?: Partial<StartOptions>): Promise<Finished>
  start(argv: readonly string[], options?: Partial<StartOptions>): Started
  /** `glovebox run --prompt … --sandbox runs/<name> <flags> -- sh -c <script>` */
  shell(name: string, script: string, ...flags: readonly string[]): Promise<Finished>
  settings(text: string): void
  remove(): void
}

export function makeRunGround(): RunGround {
  const project = makeProject()
  const home = join(project.outside, 'state')
  mkdirSync(home, { mode: 0o700 })
  const how = (options: Partial<StartOptions>): StartOptions => ({
    cwd: project.directory,
    ...options,
    env: { GLOVEBOX_STATE_DIR: home, ...options.env },
  })
  const glovebox = (argv: readonly string[], options: Partial<StartOptions> = {}): Promise<Finished> =>
    run(argv, how(options))
  return {
    ...project,
    place: (name) => join(project.directory, 'runs', name),
    glovebox,
    start: (argv, options = {}) => start(argv, how(options)),
    shell: (name, script, ...flags) =>
      glovebox(['run', '--prompt', 'Do it.', '--sandbox', `runs/${name}`, ...flags, '--', 'sh', '-c', script]),
    settings: (text) => writeFileSync(join(project.directory, 'glovebox.yaml'), text),
  }
}

export const recordOf = (directory: string): RunRecord =>
  JSON.parse(readFileSync(join(directory, 'run.json'), 'utf8')) as RunRecord

export const eventsOf = (directory: string): readonly RunEvent[] =>
  readFileSync(join(directory, 'events.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as RunEvent)

/** Every entry below a directory with its content, for "untouched" and for "nowhere in it". */
export function treeOf(directory: string, prefix = ''): ReadonlyMap<string, string> {
  const entries = new Map<string, string>()
  for (const name of readdirSync(directory).toSorted()) {
    const path = join(directory, name)
    const kind = lstatSync(path)
    if (kind.isDirectory()) {
      entries.set(`${prefix}${name}/`, '')
      for (const [inner, content] of treeOf(path, `${prefix}${name}/`)) entries.set(inner, content)
    } else entries.set(prefix + name, kind.isSymbolicLink() ? readlinkSync(path) : readFileSync(path, 'latin1'))
  }
  return entries
}
