// The law by subject, in the order in which it is proved.
import type { CaseGroup, ConformanceCase } from './case.ts'
import { actionCases } from './cases/actions.ts'
import { aheadCases } from './cases/ahead.ts'
import { catalogCases } from './cases/catalog.ts'
import { compileCases } from './cases/compile.ts'
import { concurrencyCases } from './cases/concurrency.ts'
import { cwdCases } from './cases/cwd.ts'
import { cancelCases, timeoutCases } from './cases/deadline.ts'
import { describeCases } from './cases/describe.ts'
import { environmentCases } from './cases/environment.ts'
import { exitCases } from './cases/exits.ts'
import { fileArrangeCases } from './cases/files-arrange.ts'
import { fileReadCases } from './cases/files-read.ts'
import { fileWriteCases } from './cases/files-write.ts'
import { hiddenCases, protectedCases } from './cases/guarded.ts'
import { killCases } from './cases/kill.ts'
import { lifecycleCases } from './cases/lifecycle.ts'
import { limitCases } from './cases/limits.ts'
import { linkCases } from './cases/links.ts'
import { mountModeCases } from './cases/mount-modes.ts'
import { mountCases } from './cases/mounts.ts'
import { outputCases } from './cases/output.ts'
import { policyCases } from './cases/policy.ts'
import { provisionCases } from './cases/provision.ts'
import { secrecyCases } from './cases/secrecy.ts'
import { secretCases } from './cases/secrets.ts'
import { searchCases } from './cases/search.ts'
import { shellActionCases } from './cases/shells-actions.ts'
import { shellEndCases } from './cases/shells-ends.ts'
import { shellOutputCases } from './cases/shells-output.ts'
import { shellStateCases } from './cases/shells-state.ts'
import { spawnCases } from './cases/spawn.ts'
import { stdinCases } from './cases/stdin.ts'
import { terminalCases } from './cases/terminals.ts'
import { toolCases } from './cases/tools.ts'
import { treeCases } from './cases/tree.ts'

export const conformanceGroups: readonly CaseGroup[] = [
  { about: 'compile', cases: compileCases },
  { about: 'create, discover, list, destroy', cases: lifecycleCases },
  { about: 'spawn', cases: spawnCases },
  { about: 'made ahead of use', cases: aheadCases },
  { about: 'exit codes and signals', cases: exitCases },
  { about: 'standard input', cases: stdinCases },
  { about: 'output', cases: outputCases },
  { about: 'timeout', cases: timeoutCases },
  { about: 'cancel', cases: cancelCases },
  { about: 'process tree', cases: treeCases },
  { about: 'environment', cases: environmentCases },
  { about: 'working directory', cases: cwdCases },
  { about: 'mounts', cases: mountCases },
  { about: 'read-only mounts and vaults', cases: mountModeCases },
  { about: 'secrets', cases: secretCases },
  { about: 'provision', cases: provisionCases },
  { about: 'reading files', cases: fileReadCases },
  { about: 'writing files', cases: fileWriteCases },
  { about: 'directories, removal, renaming', cases: fileArrangeCases },
  { about: 'links and special files', cases: linkCases },
  { about: 'protected names', cases: protectedCases },
  { about: 'hidden paths', cases: hiddenCases },
  { about: 'search', cases: searchCases },
  { about: 'actions', cases: actionCases },
  { about: 'tools', cases: toolCases },
  { about: 'policy', cases: policyCases },
  { about: 'limits', cases: limitCases },
  { about: 'describe', cases: describeCases },
  { about: 'catalog', cases: catalogCases },
  { about: 'state of a shell', cases: shellStateCases },
  { about: 'output of a shell', cases: shellOutputCases },
  { about: 'ends in a shell', cases: shellEndCases },
  { about: 'actions of a shell', cases: shellActionCases },
  { about: 'terminals', cases: terminalCases },
  { about: 'kill', cases: killCases },
  { about: 'concurrency', cases: concurrencyCases },
  { about: 'secrecy of the host', cases: secrecyCases },
]

export const conformanceCases: readonly ConformanceCase[] = conformanceGroups.flatMap(({ cases }) => cases)
