// The one reader of GLOVEBOX_FAILPOINTS. Without it nothing happens at any of the named places.
import { noFailpoint, parseFailpoints, type Failpoint } from '../../runs/failpoints.ts'

export function runFailpoint(): Failpoint {
  const asked = process.env['GLOVEBOX_FAILPOINTS']
  return asked === undefined || asked === '' ? noFailpoint : parseFailpoints(asked)
}
