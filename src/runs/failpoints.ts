// The named places of a run at which a test may end, delay or fail the process. Without `GLOVEBOX_FAILPOINTS` they do nothing; the
// variable is read in runtime/ and handed in as a function, so this room never looks at the environment.
import { parseFailpointsOf } from '../process/failpoints.ts'

export const failpointNames = [
  'run.create.beforePublish',
  'run.create.afterPublish',
  'run.append.beforeWrite',
  'run.append.afterWrite',
  'run.append.afterSync',
  'run.persist.beforeRename',
  'run.persist.afterRename',
  'run.end.beforeManifest',
  'run.end.beforeEvent',
  'run.end.afterEvent',
  'run.recover.beforeTruncate',
  'run.recover.afterTruncate',
  'run.index.beforePut',
  'once.claimed',
  'once.done',
] as const
export type FailpointName = (typeof failpointNames)[number]

/** Returns, throws a system error, or does not return at all. */
export type Failpoint = (name: FailpointName) => void

export const noFailpoint: Failpoint = () => {}

export const parseFailpoints = (text: string): Failpoint => parseFailpointsOf(failpointNames, text)
