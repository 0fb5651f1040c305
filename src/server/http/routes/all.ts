// Every route of the server. The document, the tests of identity and the router see this list and no other.
import type { Route } from '../route.ts'
import { commandRoutes } from './commands.ts'
import { execRoutes, type ExecParts } from './execs.ts'
import { catalogRoutes } from './catalog.ts'
import { fileRoutes } from './files.ts'
import { provisionRoutes } from './provision.ts'
import { healthRoutes, type HealthParts } from './health.ts'
import { lifetimeRoutes, type LifetimeParts } from './lifetimes.ts'
import { referenceRoutes } from './reference.ts'
import { runFileRoutes } from './run-files.ts'
import { runRoutes, type RunParts } from './runs.ts'
import { sandboxRoutes, type SandboxParts } from './sandboxes.ts'
import { shellRoutes, type ShellParts } from './shells.ts'
import { terminalRoutes, type TerminalParts } from './terminals.ts'
import { tokenRoutes, type TokenParts } from './tokens.ts'

export interface RouteParts
  extends HealthParts, SandboxParts, LifetimeParts, ExecParts, RunParts, TokenParts, ShellParts, TerminalParts {}

export const allRoutes = (parts: RouteParts): readonly Route[] => [
  ...healthRoutes(parts),
  ...referenceRoutes(parts),
  ...sandboxRoutes(parts),
  ...shellRoutes(parts),
  ...terminalRoutes(parts),
  ...lifetimeRoutes(parts),
  ...commandRoutes(parts),
  ...catalogRoutes(parts),
  ...provisionRoutes(parts),
  ...fileRoutes(parts),
  ...execRoutes(parts),
  ...runRoutes(parts),
  ...runFileRoutes(parts),
  ...tokenRoutes(parts),
]
