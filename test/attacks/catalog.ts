// Every attack that the suite knows, in the order of the areas. SECURITY.md's table is made of these rows.
import type { AttackRow } from './catalog/row.ts'
import { descriptors } from './catalog/descriptors.ts'
import { environment } from './catalog/environment.ts'
import { files } from './catalog/files.ts'
import { persistence } from './catalog/persistence.ts'
import { seccomp } from './catalog/seccomp.ts'
import { settings } from './catalog/settings.ts'
import { symlinkRace } from './catalog/symlink-race.ts'

export const catalog: readonly AttackRow[] = [
  ...files,
  ...symlinkRace,
  ...persistence,
  ...settings,
  ...environment,
  ...descriptors,
  ...seccomp,
]
