// Some powers have one door each. Whoever looks for a leak of that power then has one room to read.
import { describe, expect, it } from 'vitest'
import { importsOf, readSources, type SourceFile } from './sources.ts'

interface Door {
  readonly what: string
  readonly room: string
  readonly modules: readonly string[]
  /** On code without strings and comments. */
  readonly code: RegExp
  /** Names that must not be taken from node:process elsewhere. */
  readonly fromProcess: readonly string[]
  /** Files of other rooms that may, each with its reason. */
  readonly except?: readonly string[]
}

const never = /(?!)/

const doors: readonly Door[] = [
  {
    what: 'child processes are started',
    room: 'src/process/',
    modules: ['node:child_process', 'child_process', 'node:cluster'],
    code: never,
    fromProcess: [],
  },
  {
    what: 'a database is spoken to',
    room: 'src/store/',
    modules: ['kysely', 'pg', '@photostructure/sqlite', 'node:sqlite'],
    code: never,
    fromProcess: [],
  },
  {
    what: "the operator's environment is read",
    room: 'src/runtime/',
    modules: [],
    code: /\bprocess\s*(?:\?\.|\.)\s*env\b|\bprocess\s*\[/,
    fromProcess: ['env'],
  },
  {
    what: 'something is printed or an exit code chosen',
    room: 'src/cli/',
    modules: ['node:console', 'node:tty', 'node:readline'],
    code: /\bconsole\s*\.|\bprocess\.(?:stdout|stderr|exitCode)\b|\bprocess\.(?:exit|abort)\(|\bwrite(?:Sync)?\(\s*[12]\b/,
    fromProcess: ['stdout', 'stderr', 'exit', 'exitCode', 'abort'],
    // Node's stream for a terminal serves for the end of one that we made, too: nobody sees what is written there but its program.
    except: ['src/process/terminal.ts'],
  },
]

function takenFromProcess(file: SourceFile): readonly string[] {
  return [...file.code.matchAll(/\bimport\s*\{([^}]*)\}\s*from\s*«(\d+)»/g)]
    .filter(([, , index]) => /^(?:node:)?process$/.test(file.strings[Number(index)] ?? ''))
    .flatMap(([, names = '']) => names.split(',').map((name) => name.trim().split(/\s+/)[0] ?? ''))
}

const files = readSources('src').filter(({ isTest }) => !isTest)

const uses = (file: SourceFile, door: Door): boolean =>
  importsOf(file).some(({ kind, target }) => kind !== 'type' && door.modules.includes(target)) ||
  door.code.test(file.code) ||
  takenFromProcess(file).some((name) => door.fromProcess.includes(name))

describe('doors', () => {
  it.each(doors.map((door) => [door.what, door.room, door] as const))('%s only in %s', (_what, _room, door) => {
    const isOutside = ({ path }: SourceFile): boolean =>
      !path.startsWith(door.room) && !(door.except ?? []).includes(path)
    const outside = files.filter((file) => isOutside(file) && uses(file, door))
    expect(outside.map(({ path }) => path)).toEqual([])
  })

  it('every door is used by its own room, so that the rules above can fail', () => {
    const unused = doors.filter((door) => !files.some((file) => file.path.startsWith(door.room) && uses(file, door)))
    expect(unused.map(({ what }) => what)).toEqual([])
  })
})
