// Every attack that the suite knows, in the order of the areas. SECURITY.md's table is made of these rows.
import { docker, onDocker } from './catalog/docker.ts'
import { onGvisor } from './catalog/docker-runsc.ts'
import type { AttackRow, Outcome } from './catalog/row.ts'
import { cells } from './catalog/cells.ts'
import { actions } from './catalog/actions.ts'
import { descriptors } from './catalog/descriptors.ts'
import { environment } from './catalog/environment.ts'
import { execs } from './catalog/execs.ts'
import { files } from './catalog/files.ts'
import { hostPaths } from './catalog/host-paths.ts'
import { persistence } from './catalog/persistence.ts'
import { policy } from './catalog/policy.ts'
import { seccomp } from './catalog/seccomp.ts'
import { settings } from './catalog/settings.ts'
import { symlinkRace } from './catalog/symlink-race.ts'
import { kernel } from './catalog/kernel.ts'
import { layers } from './catalog/layers.ts'
import { limits } from './catalog/limits.ts'
import { network } from './catalog/network.ts'
import { output } from './catalog/output.ts'
import { selfDescription } from './catalog/self-description.ts'
import { processes } from './catalog/processes.ts'
import { recycle } from './catalog/recycle.ts'
import { resources } from './catalog/resources.ts'
import { shells } from './catalog/shells.ts'
import { sockets } from './catalog/sockets.ts'
import { terminals } from './catalog/terminals.ts'
import { vault, vaultRecords } from './catalog/vault.ts'

const rows: readonly AttackRow[] = [
  ...files,
  ...hostPaths,
  ...symlinkRace,
  ...layers,
  ...persistence,
  ...actions,
  ...settings,
  ...policy,
  ...environment,
  ...descriptors,
  ...seccomp,
  ...kernel,
  ...limits,
  ...network,
  ...output,
  ...processes,
  ...cells,
  ...shells,
  ...recycle,
  ...vault,
  ...terminals,
  ...vaultRecords,
  ...selfDescription,
  ...resources,
  ...sockets,
  ...execs,
  ...docker,
]

export interface WholeRow extends AttackRow {
  readonly docker: Outcome
  /** Why it is not stopped there. */
  readonly dockerWhy?: string
  /** On docker with gVisor. */
  readonly runsc: Outcome
  readonly runscWhy?: string
}

/** The same attacks are run on docker, with runc and with gVisor; where their outcome is another one, it is declared. */
export const catalog: readonly WholeRow[] = rows.map((row): WholeRow => {
  const docker = onDocker[row.title] ?? { outcome: row.docker ?? row.bwrap }
  const runsc = onGvisor[row.title]
  return {
    ...row,
    docker: docker.outcome,
    ...('why' in docker ? { dockerWhy: docker.why } : {}),
    runsc: (runsc ?? docker).outcome,
    ...(runsc === undefined ? {} : { runscWhy: runsc.why }),
  }
})
