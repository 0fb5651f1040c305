// Compares logs/actions/ with the events: each `action_ended` names every file of its action with its hash, and so do
// these files name the contents in archive/blobs. What nobody vouches for is told too, unless a crash explains it: an
// action whose end was never recorded may have left files behind.
import { join } from 'node:path'
import { actionDirectoryName, changeSetSchema, type Change } from '../contract/recorded-action.ts'
import { hashRegular, openDirectory, readingBuffer, textOf, type Directory } from './verify-files.ts'
import type { Finding, LogReading } from './verify-log.ts'

const toldAtMost = 100
const fileName = /^[a-z][a-z0-9_.-]*$/
const hashForm = /^[0-9a-f]{64}$/

export interface ActionsChecked {
  readonly findings: readonly Finding[]
  readonly actions: number
  readonly files: number
  readonly bytes: number
}

export async function checkActions(directory: string, log: LogReading): Promise<ActionsChecked> {
  const check = new ActionCheck(log)
  await check.all(directory)
  return check.report()
}

class ActionCheck {
  readonly #log: LogReading
  readonly #findings: Finding[] = []
  readonly #buffer = readingBuffer()
  readonly #kept = new Set<string>()
  #files = 0
  #bytes = 0

  constructor(log: LogReading) {
    this.#log = log
  }

  report(): ActionsChecked {
    const { actions } = this.#log
    return { findings: this.#findings, actions: actions.size, files: this.#files, bytes: this.#bytes }
  }

  async all(directory: string): Promise<void> {
    using actions = openDirectory(join(directory, 'logs', 'actions'))
    for (const [number, files] of this.#log.actions) {
      using place = actions?.open(actionDirectoryName(number))
      await this.#action(`logs/actions/${actionDirectoryName(number)}`, place, files)
    }
    if (actions !== undefined) this.#strangers(actions)
    using blobs = openDirectory(join(directory, 'archive', 'blobs'))
    await this.#blobs(blobs)
  }

  async #action(subject: string, place: Directory | undefined, files: ReadonlyMap<string, string>): Promise<void> {
    if (place === undefined) return this.#find(subject, 'it is missing')
    for (const [name, hash] of files) {
      if (!fileName.test(name)) this.#find(`${subject}/${name}`, 'no file of an action has this name')
      else if ((await this.#isTrue(`${subject}/${name}`, place.at(name), hash)) && name === 'changes.json')
        await this.#remember(`${subject}/${name}`, place.at(name))
    }
    for (const name of place.names()) if (!files.has(name)) this.#find(`${subject}/${name}`, 'it was added')
  }

  async #isTrue(subject: string, path: string, hash: string): Promise<boolean> {
    const found = await hashRegular(path, this.#buffer)
    this.#files += 1
    this.#bytes += found?.bytes ?? 0
    if (found === undefined) this.#find(subject, 'it is missing, or no file')
    else if (found.sha256 !== hash) this.#find(subject, 'it is not what it was when it was recorded')
    return found?.sha256 === hash
  }

  /** Which contents its change set says were kept. */
  async #remember(subject: string, path: string): Promise<void> {
    const changes = changesIn(await textOf(path))
    if (changes === undefined) return this.#find(subject, 'it is not of its schema')
    for (const { kept, after_sha256: hash } of changes) if (kept && hash !== null) this.#kept.add(hash)
  }

  #strangers(actions: Directory): void {
    const known = new Set([...this.#log.actions.keys()].map(actionDirectoryName))
    const begun = new Set([...this.#log.begun].map(actionDirectoryName))
    for (const name of actions.names()) {
      if (known.has(name) || begun.has(name) || this.#crashed) continue
      this.#find(`logs/actions/${name}`, 'no event speaks of it')
    }
  }

  /** A power cut may take the event that began an action and leave its directory. */
  get #crashed(): boolean {
    const { record } = this.#log
    return record === undefined || record.failure_reason === 'server_crash' || record.failure_reason === 'log_torn'
  }

  async #blobs(blobs: Directory | undefined): Promise<void> {
    const names = (blobs?.names() ?? []).filter((name) => hashForm.test(name))
    const there = new Set(names)
    for (const hash of this.#kept) if (!there.has(hash)) this.#find(`archive/blobs/${hash}`, 'it is missing')
    for (const name of names) if (blobs !== undefined) await this.#isTrue(`archive/blobs/${name}`, blobs.at(name), name)
  }

  #find(subject: string, detail: string): void {
    if (this.#findings.length < toldAtMost) this.#findings.push({ kind: 'action', subject, detail })
  }
}

function changesIn(text: string | undefined): readonly Change[] | undefined {
  try {
    const parsed = changeSetSchema.safeParse(JSON.parse(text ?? ''))
    return parsed.success ? parsed.data.changes : undefined
  } catch {
    return undefined
  }
}
