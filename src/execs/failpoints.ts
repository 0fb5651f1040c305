// The named places of an exec's life at which a test may end, delay or fail the process. Without `GLOVEBOX_FAILPOINTS` they do nothing;
// the variable is read in runtime/ and handed in as a function.
export const execFailpointNames = [
  'exec.accept.beforeRow',
  'exec.accept.beforeMeta',
  'exec.cancel.beforeFiles',
  'exec.start.beforeName',
  'exec.start.beforeCreate',
  'exec.putBack.beforeRow',
  'exec.end.beforeRecord',
  'exec.end.whileHashing',
  'exec.end.beforeManifestRename',
  'exec.end.beforeMeta',
  'exec.end.beforeRow',
  'exec.end.afterRow',
] as const
export type ExecFailpointName = (typeof execFailpointNames)[number]

/** Returns, throws a system error, or does not return at all. */
export type ExecFailpoint = (name: ExecFailpointName) => void

export const noExecFailpoint: ExecFailpoint = () => {}
