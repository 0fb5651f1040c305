// The one reader of GLOVEBOX_FAILPOINTS. Without it nothing happens at any of the named places.
import { execFailpointNames, type ExecFailpointName } from '../execs/failpoints.ts'
import { parseFailpointsOf } from '../process/failpoints.ts'
import { failpointNames, type FailpointName } from '../runs/failpoints.ts'

/** For every room that has some: a server may make runs as well as execs. */
export const askedFailpoints = (): ((name: FailpointName | ExecFailpointName) => void) =>
  parseFailpointsOf([...failpointNames, ...execFailpointNames], process.env['GLOVEBOX_FAILPOINTS'] ?? '')
