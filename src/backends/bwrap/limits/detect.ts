// Decides by which mechanism this host can hold limits. Pure over LimitsHost.
// Fails closed: what cannot be shown to work is not offered, and the plan says why and what would mend it.
import { detectV1 } from './detect-v1.ts'
import { detectV2 } from './detect-v2.ts'
import { parseCgroupLines, parseCgroupMounts } from '../../../process/control-groups.ts'
import { noLimits, type LimitsHost, type LimitsPlan } from './plan.ts'

export function detectLimits(host: LimitsHost): LimitsPlan {
  const lines = parseCgroupLines(host.cgroup)
  const mounts = parseCgroupMounts(host.mountinfo)
  if (mounts.length === 0) {
    return noLimits('no control group file system is mounted', 'mount -t cgroup2 none /sys/fs/cgroup')
  }
  // A controller belongs to one hierarchy only, so one that v1 holds is missing in v2.
  const v1 = detectV1(host, lines, mounts)
  if (v1 === undefined) return detectV2(host, lines, mounts)
  return v1.enforces.length > 0 ? v1 : { mechanism: 'none', by: 'nothing', enforces: [], missing: v1.missing }
}
