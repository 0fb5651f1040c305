// All that a server is made of, opened in order and closed in the opposite one: settings, database, audit log, backends, and the
// houses of sandboxes and runs. It must not know that callers come over HTTP.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { BackendName } from '../../contract/backend.ts'
import type { HostPath } from '../../contract/mount.ts'
import type { Store } from '../../contract/store.ts'
import { runningPlace } from '../../execs/layout.ts'
import { keepInstallation } from '../../process/installation.ts'
import { lowerOwnThreads } from '../../process/own-threads.ts'
import { openAudit, type AuditLog } from '../audit.ts'
import { defaultBackend } from '../create.ts'
import { loadSettings, type Settings } from '../settings.ts'
import { openLeases } from '../pool/leases.ts'
import { openRealPool } from '../pool/open.ts'
import { refuseModule } from '../pool/provider.ts'
import { askedFailpoints } from '../failpoints.ts'
import type { IndexedPlaces } from '../reindex/index-files.ts'
import { stateHome } from '../state.ts'
import { countWork } from './at-work.ts'
import { openServedBackends, type ServedBackends } from './backends.ts'
import { closeAll } from '../../process/close-all.ts'
import { openServedExecs, type ServedExecs } from './execs.ts'
import { openOnce, type Once } from './idempotency.ts'
import { purgeKeys } from './key-purge.ts'
import { databaseUrl, dataHome, serverKey } from './place.ts'
import { openRunHouse, type RunHouse } from './runs.ts'
import { defaultSandboxLimits, openSandboxHouse, type SandboxHouse, type SandboxLimits } from './sandboxes.ts'
import { openSnapshotHouse, type SnapshotHouse } from './snapshots.ts'
import { openTokenDesk, type TokenDesk } from './tokens.ts'
import { placeWorkspace } from './workspace.ts'

export interface ServerRequest {
  /** The process does nothing else, and has done nothing yet. */
  readonly isProcessOurs?: boolean
  /** Where the search for settings begins. */
  readonly directory: string
  readonly settingsFile?: string | undefined
  readonly data?: string | undefined
  /** Default: that of the settings, else the platform's own. */
  readonly backends?: readonly BackendName[] | undefined
  readonly sandboxLimits?: Partial<SandboxLimits> | undefined
  readonly onFault: (error: unknown, about: string) => void
}

export interface OpenedServer {
  readonly state: HostPath
  readonly data: HostPath
  readonly settings: Settings
  readonly store: Store
  readonly audit: AuditLog
  readonly desk: TokenDesk
  readonly once: Once
  readonly backends: ServedBackends
  readonly house: SandboxHouse
  readonly snapshots: SnapshotHouse
  readonly runs: RunHouse
  readonly execs: ServedExecs
  /** Signs what callers carry back to us. */
  readonly key: Uint8Array
  close(): Promise<void>
}

/** About as long as a short command takes: its end then finds the log still in hand. */
const auditLingerMs = 5

export async function openServer(request: ServerRequest): Promise<OpenedServer> {
  const { directory, settingsFile, onFault } = request
  if (request.isProcessOurs === true) lowerOwnThreads()
  const settings = await loadSettings({ directory, ...(settingsFile === undefined ? {} : { settingsFile }) })
  refuseModule(settings.pool)
  const state = stateHome()
  const data = dataHome(request.data)
  keepInstallation(state, data)
  const workspace = placeWorkspace(settings.sandbox, data)
  const { openStore } = await import('../../store/open.ts')
  const store = await openStore({ url: databaseUrl(state), onDamage: 'quarantine' })
  let audit: AuditLog
  let key: Uint8Array
  try {
    key = await serverKey(state, store)
    audit = await openAudit(state, { lingerMs: auditLingerMs })
  } catch (error) {
    await store.close()
    throw error
  }
  const { pool: poolSettings } = settings
  const [first = poolSettings?.use ?? settings.backend ?? defaultBackend(), ...others] = request.backends ?? []
  const backends = openServedBackends([first, ...others], {
    docker: dockerSettings(settings),
    lastingDir: runningPlace(workspace.host_path_native),
  })
  const limits = { ...defaultSandboxLimits, ...request.sandboxLimits }
  const real = openRealPool({
    state,
    backends,
    leases: await openLeases({ state, store, timeoutSeconds: poolSettings?.lease_timeout }),
    layers: settings.layers,
    env: settings.env ?? {},
    vaults: settings.vaults,
    settings: poolSettings,
    limits: { replicas: limits.total, idleMs: limits.idleMs, waitMs: limits.waitMs },
    lifeMs: limits.lifeMs,
    maxAgeMs: limits.maxAgeMs,
    onFault,
    operatorEnv: process.env,
  })
  const work = countWork()
  const house = openSandboxHouse({
    ...real,
    work,
    state,
    limits,
    mountRoots: poolSettings?.mount_roots ?? [],
    offers: poolSettings?.offered_mounts ?? {},
    vaults: settings.vaults ?? {},
  })
  const failpoint = askedFailpoints()
  const root = join(data, 'runs')
  mkdirSync(root, { recursive: true, mode: 0o700 })
  const runs = openRunHouse({
    root,
    index: store.runs,
    backends,
    settings,
    places: limits.runs,
    onFault,
    failpoint,
  })
  if (store.unindexedSince !== undefined)
    await indexAnew(store, { workspace: workspace.host_path_native, runs: root }, onFault)
  const execs = await openServedExecs({
    store,
    backends,
    settings,
    workspace,
    log: (about, error) => onFault(error, about),
  }).catch(async (error: unknown) => {
    await backends.close()
    await audit.close()
    await store.close()
    throw error
  })
  const purging = purgeKeys(store.idempotency, { onFault })
  return {
    state,
    data,
    settings,
    store,
    audit,
    desk: openTokenDesk(store.tokens),
    once: openOnce(store.idempotency, { failpoint }),
    backends,
    house,
    snapshots: openSnapshotHouse({ state, work, ...real, limits }),
    runs,
    execs,
    key,
    close: () =>
      closeAll([
        async () => purging.close(),
        () => execs.close(),
        () => runs.stop(),
        () => house.close(),
        () => backends.close(),
        // What is recorded is signed, whatever else went wrong.
        () => audit.close(),
        () => store.close(),
      ]),
  }
}

const dockerSettings = ({ docker, pool }: Settings): Settings['docker'] =>
  pool?.image === undefined ? docker : { ...docker, image: pool.image }

/** The database was damaged and began empty; what execs and runs there are stands in their files. */
async function indexAnew(store: Store, places: IndexedPlaces, onFault: ServerRequest['onFault']): Promise<void> {
  const { indexFiles } = await import('../reindex/index-files.ts')
  const { unreadable } = await indexFiles(store, places)
  for (const { place, why } of unreadable) onFault(new Error(`${place}: ${why}`), 'a record was not indexed')
  store.indexed()
}
