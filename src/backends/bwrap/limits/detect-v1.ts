// cgroup v1: every controller is looked for in its own hierarchy, and each may be missing for its own reason.
import { directoryOf, type CgroupLine, type CgroupMount } from '../../../process/control-groups.ts'
import { controllers, type Controller, type LimitsHost, type MissingLimit, type V1Plan } from './plan.ts'

type Looked = { readonly what: Controller; readonly parent: string } | MissingLimit

/** Undefined when the host holds none of the three controllers in v1. */
export function detectV1(
  host: LimitsHost,
  lines: readonly CgroupLine[],
  mounts: readonly CgroupMount[],
): V1Plan | undefined {
  const held = new Set(lines.flatMap((line) => line.controllers))
  if (!controllers.some((what) => held.has(what))) return undefined
  const looked = controllers.map((what) => lookFor(what, host, lines, mounts))
  const found = looked.flatMap((each) => ('parent' in each ? [each] : []))
  return {
    mechanism: 'cgroup v1',
    by: 'cgroup v1',
    enforces: found.map((each) => each.what),
    missing: looked.flatMap((each) => ('parent' in each ? [] : [each])),
    parents: Object.fromEntries(found.map((each) => [each.what, each.parent])),
  }
}

function lookFor(
  what: Controller,
  host: LimitsHost,
  lines: readonly CgroupLine[],
  mounts: readonly CgroupMount[],
): Looked {
  const line = lines.find((each) => each.controllers.includes(what))
  if (line === undefined) {
    return {
      what,
      why: `the kernel's ${what} controller is switched off or not in cgroup v1`,
      fix: `boot with cgroup_enable=${what}, or with systemd.unified_cgroup_hierarchy=1`,
    }
  }
  // Groups are made below the process's own, so that limits of a surrounding container hold for them too.
  const parent = mounts
    .filter((mount) => mount.type === 'cgroup' && mount.controllers.includes(what))
    .map((mount) => directoryOf(mount, line.path))
    .findLast((directory) => directory !== undefined)
  if (parent === undefined) {
    return {
      what,
      why: `the ${what} controller is not mounted where this process could reach its own group`,
      fix: `mount -t cgroup -o ${what} none /sys/fs/cgroup/${what}`,
    }
  }
  if (!host.canWrite(parent)) return { what, ...notWritable(host) }
  if (what === 'cpu' && host.read(`${parent}/cpu.cfs_quota_us`) === undefined) {
    return { what, why: 'the kernel was built without CPU bandwidth control', fix: 'use a kernel with CFS_BANDWIDTH' }
  }
  return { what, parent }
}

function notWritable(host: LimitsHost): { readonly why: string; readonly fix: string } {
  if (host.uid === 0) {
    return {
      why: 'control groups are read-only here',
      fix: 'give the container writable control groups (docker run --privileged, or a delegated cgroup)',
    }
  }
  return {
    why: 'cgroup v1 cannot be delegated safely, and an ordinary user may not make groups here',
    fix: 'start as root, or boot with systemd.unified_cgroup_hierarchy=1 to have cgroup v2',
  }
}
