// The catalog of one sandbox: what was done in it and how it stands, kept in memory and written behind as small files that the agent
// can read. Promises: each file is whole and of one moment whenever it is read; no command waits for a writing, and a busy sandbox
// is written a few times a second at most; nothing that it is handed in confidence (values, host paths) is written, since it is
// handed none. It must not know where the files are shown, nor what a backend is.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Catalog, CatalogBudgetLine, CatalogEvent, CatalogRun } from '../contract/catalog.ts'
import type { Description } from '../contract/sandbox.ts'
import type { ShellInfo } from '../contract/shell.ts'
import type { DescribedVault } from '../contract/vault.ts'
import { nowMs } from './clock.ts'
import { budgetOf, environmentOf, mountsOf, outcomeOf, permissionsOf, runtimeOf, shellsOf, vaultsOf } from './facts.ts'
import { openJournal, type Deed, type Journal } from './journal.ts'
import { openPages, type Page, type Pages } from './pages.ts'
import { indexOf, readme } from './set.ts'
import { toolContract } from './tool-contract.ts'

/** Asked whenever the files are written. Each answers from memory, at once. */
export interface CatalogSources {
  readonly describe: () => Description
  readonly shells: () => readonly ShellInfo[]
  readonly vaults: () => readonly DescribedVault[]
  /** What runs out, beside the sandbox's own use. */
  readonly budget: () => readonly CatalogBudgetLine[]
  /** Takes out what must not be kept. */
  readonly redact: (text: string) => string
}

export interface CatalogOptions extends CatalogSources {
  /** Where the files are written: a directory of its own. */
  readonly directory: string
  readonly catalogDir: string
  readonly shell: string
  readonly createdAt: Date
  readonly run: CatalogRun | null
}

export interface LiveCatalog {
  /** Something begins. What it answers is told of the end. */
  begin(deed: Deed): ReturnType<Journal['begin']>
  /** Something else has changed: a shell, a budget. */
  note(type: Exclude<CatalogEvent['type'], 'provisioned'>, summary: string): void
  /** What the sources tell is other than before. */
  touch(): void
  /** Mounts, vaults or the policy are others than before. */
  provisioned(summary: string): void
  /** Writes it now: for a reader that must see all that came before. */
  settle(): void
  read(): Catalog
  close(): void
}

/**
 * Nobody can look at the files while nothing runs. So the first set is written a moment after something has begun. Where it has ended by
 * then, the set comes later, for whoever looks next; and not at all where the sandbox ends before: on a disk from which much was
 * deleted lately, ext4 takes longer for two dozen new files than a sandbox takes to be made. A boundary of its own is made only when a
 * command has begun, and has the moment's first half for that. Where this process is so busy that the
 * moment comes late, a crowd waits for it, and the next moment will do.
 */
const firstMs = 40
const lateMs = 5
const longestMs = 200
const mostBehindMs = 2000

export function openCatalog(options: CatalogOptions): LiveCatalog {
  const openedAt = nowMs()
  let description = options.describe()
  let opened: Pages | undefined
  let first: Coming | undefined
  let latest: Coming | undefined
  let atWork = 0
  // What an earlier opening left is not to be read as this one's. A shell may look at any time.
  let isWatched = existsSync(join(options.directory, 'index.json'))
  const pages = (): Pages => {
    if (opened !== undefined) return opened
    first?.cancel()
    latest?.cancel()
    const made = openPages({
      directory: options.directory,
      draw: () => drawMoving(options, { description, journal, openedAt }),
    })
    putFixed(made, options, description)
    putRules(made, options, description)
    made.touch('soon')
    opened = made
    return made
  }
  const awaitReader = (): void => {
    if (opened !== undefined) return
    const write = (): void => settleQuietly(pages)
    first ??= afterQuietMoment(write, { afterMs: firstMs, mostMs: longestMs })
    latest ??= afterQuietMoment(write, { afterMs: longestMs, mostMs: mostBehindMs })
  }
  const workEnded = (): void => {
    atWork -= 1
    if (atWork > 0 || isWatched) return
    first?.cancel()
    first = undefined
  }
  const journal = openJournal({ redact: options.redact, onChange: (when) => opened?.touch(when) })
  journal.note('sandbox_opened', `${description.id} was opened`)
  if (isWatched) awaitReader()
  return {
    begin(deed) {
      const begun = journal.begin(deed)
      atWork += 1
      awaitReader()
      return {
        ended(result) {
          begun.ended(result)
          workEnded()
        },
        refused(code) {
          begun.refused(code)
          workEnded()
        },
      }
    },
    note(type, summary) {
      journal.note(type, summary)
      isWatched = true
      awaitReader()
    },
    provisioned(summary) {
      description = options.describe()
      putRules(pages(), options, description)
      journal.note('provisioned', summary)
      pages().settle()
    },
    touch: () => opened?.touch('soon'),
    settle() {
      opened?.touch('soon')
      settleQuietly(pages)
    },
    read: () => documentOf(pages().read(), journal),
    close() {
      first?.cancel()
      latest?.cancel()
      opened?.close()
    },
  }
}

interface Coming {
  cancel(): void
}

function afterQuietMoment(
  work: () => void,
  { afterMs, mostMs }: { readonly afterMs: number; readonly mostMs: number },
): Coming {
  const begunAt = nowMs()
  const wait = (): NodeJS.Timeout => {
    const dueAt = nowMs() + afterMs
    return setTimeout(() => {
      const now = nowMs()
      if (now - dueAt < lateMs || now - begunAt >= mostMs) work()
      else timer = wait()
    }, afterMs).unref()
  }
  let timer = wait()
  return { cancel: () => clearTimeout(timer) }
}

/** A full disk is told to whoever reads the catalog, and to nobody else. */
function settleQuietly(pages: () => Pages): void {
  try {
    pages().settle()
  } catch {
    // The next one that needs it tries again.
  }
}

const toolsPage = `{"catalogVersion":1,"revision":1,"actions":${toolContract}}\n`

/** What never changes. */
function putFixed(pages: Pages, { catalogDir, createdAt, shell, run }: CatalogOptions, description: Description): void {
  const { id: sandboxId, cwd, homeDir, tmpDir, cacheDir } = description
  const at = { createdAt: createdAt.toISOString(), cwd, homeDir, tmpDir, cacheDir }
  pages.put('README.md', readme(catalogDir))
  // Searches and git pass it over.
  pages.put('.gitignore', '*\n')
  pages.put('index.json', indexOf(sandboxId))
  // An action to a line: an agent finds one with grep.
  pages.put('tools.json', toolsPage)
  pages.put('session.json', { sandboxId, ...at, shell, catalogDir, run })
}

/** What changes only with the mounts and the policy. */
function putRules(pages: Pages, { vaults }: CatalogSources, description: Description): void {
  pages.put('runtime.json', runtimeOf(description))
  pages.put('permissions.json', permissionsOf(description))
  pages.put('environment.json', environmentOf(description))
  pages.put('mounts.json', mountsOf(description))
  pages.put('vaults.json', vaultsOf(vaults()))
}

interface Moving {
  readonly description: Description
  readonly journal: Journal
  readonly openedAt: number
}

/** What changes with each command. */
function drawMoving(sources: CatalogSources, { description, journal, openedAt }: Moving): readonly Page[] {
  const { counts, running, last, lastOutput } = journal
  const aliveMs = Math.round(nowMs() - openedAt)
  return [
    ['shells.json', shellsOf(sources.shells(), sources.redact)],
    ['budget.json', budgetOf(description, { counts, aliveMs, further: sources.budget() })],
    ['outcome.json', outcomeOf({ counts, running, last, lastOutput })],
    ['history.jsonl', journal.historyLines()],
    ['events.jsonl', journal.eventLines()],
    ['stdout', lastOutput.stdout],
    ['stderr', lastOutput.stderr],
  ]
}

function documentOf(told: ReadonlyMap<string, object>, journal: Journal): Catalog {
  const page = <Name extends keyof Catalog>(name: Name): Catalog[Name] => told.get(`${name}.json`) as Catalog[Name]
  const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
  const { lastOutput } = journal
  return {
    catalogVersion: 1,
    session: page('session'),
    runtime: page('runtime'),
    tools: JSON.parse(toolsPage) as Catalog['tools'],
    permissions: page('permissions'),
    environment: page('environment'),
    vaults: page('vaults'),
    mounts: page('mounts'),
    budget: page('budget'),
    outcome: page('outcome'),
    shells: page('shells'),
    history: journal.history(),
    events: journal.events(),
    last: { stdout: text(lastOutput.stdout), stderr: text(lastOutput.stderr) },
  }
}
