// Where the work of a run takes place: a sandbox that shows the run's workspace and deliverables and nothing else of its
// directory, wrapped so that everything done in it is recorded. HOME lies outside of the run and ends with the sandbox: it
// is a cache and no result, may hold what a login left, and a replay or a fork has to begin without it too.
import { realpathSync } from 'node:fs'
import type { Backend } from '../../contract/backend.ts'
import type { CatalogRun } from '../../contract/catalog.ts'
import type { ShellId } from '../../contract/ids.ts'
import type { EventInput } from '../../contract/event.ts'
import type { Assignment } from '../../contract/executor.ts'
import type { Redaction } from '../../contract/redaction.ts'
import type { Sandbox } from '../../contract/sandbox.ts'
import { openActionLog } from '../../runs/action-log.ts'
import { startRecorded, syncArchive } from '../../runs/archive.ts'
import { openChangeWatch } from '../../runs/changes/watch.ts'
import type { BaseLook } from '../../runs/fork/unchanged.ts'
import { placeIn } from '../../runs/layout.ts'
import type { Run } from '../../runs/run.ts'
import { createPlannedSandbox } from '../create.ts'
import type { MountRequest } from '../mount-text.ts'
import { workspaceMount } from './fork.ts'
import { manifestOf } from './manifest.ts'
import { guestPromptFile, promptVariable, showPrompt } from './prompt.ts'
import { recordedSandbox, type RecordingOptions } from './recorded-sandbox.ts'
import type { RunSandbox } from './request.ts'

export interface WorkplaceOptions {
  readonly run: Run
  readonly prompt: string
  /** Files that must be there at the end, as the guest names them. */
  readonly deliverables: readonly string[]
  readonly sandbox: RunSandbox
  readonly backend: Backend
  readonly backendVersion: string | undefined
  readonly onAction?: RecordingOptions['onAction']
}

export interface Workplace {
  readonly sandbox: Sandbox
  /** What the catalog tells of what the executor may still use. */
  readonly tellBudget: NonNullable<Assignment['tellBudget']>
  /** Ends everything inside, and waits until its records are on disk. */
  close(): Promise<void>
}

interface Told {
  left: Parameters<Workplace['tellBudget']>[0]
  changed: () => void
}

/** The same names in every replay: recorded actions call a shell by its name. */
function numberedShells(): () => ShellId {
  let count = 0
  return () => `sh_${String((count += 1)).padStart(32, '0')}`
}

export async function openWorkplace(options: WorkplaceOptions): Promise<Workplace> {
  const { run, backend, backendVersion } = options
  const directory = realpathSync(run.directory)
  const { mount: workspace, look } = await workspaceMount(directory)
  if (look !== undefined) await run.append(baseLooked(look), { durability: 'D2' })
  const log = openActionLog(directory)
  // Before the sandbox is made, which lays stand-ins for protected names into the workspace while it lives.
  const layers = workspace.over && { upper: workspace.hostPath, lower: workspace.over.lower }
  const known: { redaction?: Redaction } = {}
  // SECURITY: what holds a value is told by its hash, and not kept.
  // test/attacks/vault-records: "a value that a command printed or kept is in no record of its run"
  const mayKeep = (bytes: Uint8Array): boolean => !holdsValue(known.redaction, bytes)
  const changes = await openChangeWatch({ directory, layers, mayKeep })
  await run.append(await startRecorded(directory), { durability: 'D2' })
  const told: Told = { left: () => [], changed: () => {} }
  const { sandbox, planned } = await createPlannedSandbox({
    backend,
    layers: options.sandbox.layers,
    mounts: [
      workspace,
      deliverablesMount(directory),
      showPrompt(directory, options.prompt),
      ...(options.sandbox.mounts ?? []),
    ],
    env: { ...options.sandbox.env, [promptVariable]: guestPromptFile },
    ...(options.sandbox.vaults === undefined ? {} : { vaults: options.sandbox.vaults }),
    cwd: '/workspace',
    home: 'scratch',
    catalog: {
      run: aboutRun(run, options.deliverables),
      budget: () => told.left(),
      onBudget: (changed) => (told.changed = changed),
    },
    newShellId: numberedShells(),
  })
  const { redaction } = planned.secrets
  known.redaction = redaction
  run.conceal(redaction)
  const close = async (): Promise<void> => {
    try {
      await sandbox.kill()
    } finally {
      changes.close()
      await Promise.all([log.close(), syncArchive(directory)])
    }
  }
  try {
    // The stand-ins are nobody's change.
    await changes.look()
    await run.recordSandbox(manifestOf({ planned, backendVersion, directory }))
    const { onAction } = options
    return {
      sandbox: recordedSandbox({
        sandbox,
        run,
        log,
        changes,
        redaction,
        ...(onAction === undefined ? {} : { onAction }),
      }),
      tellBudget(left) {
        told.left = left
        told.changed()
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

const holdsValue = (redaction: Redaction | undefined, bytes: Uint8Array): boolean =>
  redaction?.isActive === true && Buffer.compare(redaction.bytes(bytes), bytes) !== 0

const deliverablesMount = (directory: string): MountRequest => ({
  guestPath: '/deliverables',
  hostPath: placeIn(directory, 'deliverables'),
  mode: 'rw',
})

const aboutRun = ({ record }: Run, deliverables: readonly string[]): CatalogRun => ({
  runId: record.run_id,
  sessionId: record.session_id,
  taskId: record.task_id,
  deliverables: [...deliverables],
})

const baseLooked = ({ entries, complete }: BaseLook): EventInput => ({
  type: 'base_looked_at',
  summary: complete
    ? 'Nothing has changed in the runs below this fork.'
    : 'Nothing was found to have changed in the runs below this fork, and not all was looked at.',
  severity: complete ? 'info' : 'warning',
  data: { entries, complete },
})
