// Every attack that the suite knows, in the order of the areas. SECURITY.md's table is made of these rows.
import type { AttackRow } from './catalog/row.ts'
import { cells } from './catalog/cells.ts'
import { actions } from './catalog/actions.ts'
import { descriptors } from './catalog/descriptors.ts'
import { environment } from './catalog/environment.ts'
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
import { processes } from './catalog/processes.ts'
import { resources } from './catalog/resources.ts'
import { sockets } from './catalog/sockets.ts'

export const catalog: readonly AttackRow[] = [
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
  ...resources,
  ...sockets,
]
