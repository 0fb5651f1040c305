// A sandbox that keeps its catalog: what is asked of it is noted, and a command that names the catalog finds in it all that came before.
import { openCatalog, type LiveCatalog } from '../../catalog/catalog.ts'
import type { DeedResult } from '../../catalog/journal.ts'
import type { Catalog, CatalogBudgetLine, CatalogRun } from '../../contract/catalog.ts'
import type { CatalogPlace } from '../../contract/backend.ts'
import type { ExecResult } from '../../contract/exec.ts'
import type { Redaction } from '../../contract/redaction.ts'
import type { Sandbox } from '../../contract/sandbox.ts'
import { GloveboxError } from '../../errors/error.ts'
import { sandboxFiles } from '../files.ts'
import { notedShells, type NotedShells } from './noted-shells.ts'
import { noted } from './noted.ts'

/** What the maker of a sandbox knows of it, and the sandbox itself does not. */
export interface CatalogAbout {
  /** The recorded run that it serves. */
  readonly run?: CatalogRun
  /** What runs out: asked whenever the catalog is written. */
  readonly budget?: () => readonly CatalogBudgetLine[]
  /** Is handed what is to be called when the budget has changed. */
  readonly onBudget?: (changed: () => void) => void
}

export interface CataloguedOptions {
  /** Without a catalog: what is to get one. */
  readonly sandbox: Omit<Sandbox, 'catalog'>
  readonly place: CatalogPlace
  readonly shell: string
  readonly redaction: Pick<Redaction, 'text'>
  readonly about: CatalogAbout
}

export function catalogued({ sandbox, place, shell, redaction, about }: CataloguedOptions): Sandbox {
  const shells: NotedShells = notedShells(sandbox.shells, () => catalog)
  const catalog: LiveCatalog = openCatalog({
    directory: place.hostPath,
    catalogDir: place.guestPath,
    shell,
    createdAt: new Date(),
    run: about.run ?? null,
    describe: () => sandbox.describe(),
    shells: () => shells.known(),
    vaults: () => sandbox.describe().vaults,
    budget: about.budget ?? (() => []),
    redact: (text) => redaction.text(text),
  })
  about.onBudget?.(() => catalog.touch())
  let isKilled = false
  /** One that names the catalog finds in it all that came before. */
  const current = async (about: string): Promise<void> => {
    if (isKilled || !about.includes('.glovebox')) return
    await shells.look()
    catalog.settle()
  }
  const execute: Sandbox['execute'] = async (name, input, options) => {
    const about = subjectOf(input)
    await current(about)
    const work = (): Promise<unknown> => sandbox.execute(name, input, options)
    const answer = await noted(catalog, { action: name, about }, work, asResult)
    if (name.endsWith('_persistent_shell')) shells.lookSoon()
    return answer
  }
  const kill = async (): Promise<void> => {
    isKilled = true
    catalog.close()
    await sandbox.kill()
  }
  const read = async (): Promise<Catalog> => {
    if (isKilled) throw new GloveboxError('SANDBOX_GONE', 'Cannot read the catalog: the sandbox has been killed')
    await shells.look()
    return catalog.read()
  }
  return {
    ...sandbox,
    execute,
    files: sandboxFiles(execute),
    commands: {
      async run(command, options) {
        const about = Array.isArray(command) ? command.join(' ') : String(command)
        await current(about)
        return noted(catalog, { action: 'run', about }, () => sandbox.commands.run(command, options), commandResult)
      },
    },
    shells,
    async provision(resources) {
      const done = await sandbox.provision(resources)
      catalog.provisioned('the mounts or vaults have changed')
      return done
    },
    catalog: read,
    kill,
    [Symbol.asyncDispose]: kill,
  }
}

const commandResult = (result: ExecResult): DeedResult => result

/** An action that ran a command answers with what came of it. */
function asResult(answer: unknown): DeedResult {
  if (!isRecord(answer) || !isRecord(answer['ended']) || typeof answer['exitCode'] !== 'number') return {}
  const told = answer as unknown as Omit<ExecResult, 'stdoutBytes' | 'stderrBytes'>
  return { ...told, stdoutBytes: Buffer.from(told.stdout), stderrBytes: Buffer.from(told.stderr) }
}

const telling = ['path', 'command', 'pattern', 'from', 'argv', 'shellId'] as const

/** The input has not been checked yet: anything may have been asked. */
function subjectOf(input: unknown): string {
  if (!isRecord(input)) return ''
  const subject = telling.map((field) => input[field]).find((value) => value !== undefined)
  return Array.isArray(subject) ? subject.join(' ') : typeof subject === 'string' ? subject : ''
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
