// cgroup v2: one tree. The kernel lets a group hand controllers to its children only while it holds no process
// itself (the root is exempt), so the question is where a parent without processes can be had.
import { basename, dirname } from 'node:path'
import { directoryOf, type CgroupLine, type CgroupMount } from '../../../process/control-groups.ts'
import {
  controllers,
  noLimits,
  vacatedLeaf,
  type Controller,
  type LimitsHost,
  type LimitsPlan,
  type MissingLimit,
  type NoLimits,
  type SystemdPlan,
  type V2Plan,
} from './plan.ts'

interface Place {
  readonly host: LimitsHost
  /** The group of this process, as named and as a directory. */
  readonly path: string
  readonly own: string
  readonly mount: CgroupMount
}

export function detectV2(host: LimitsHost, lines: readonly CgroupLine[], mounts: readonly CgroupMount[]): LimitsPlan {
  const path = lines.find((line) => line.hierarchy === 0)?.path
  const mount = mounts.findLast((each) => each.type === 'cgroup2' && path !== undefined && isShown(each, path))
  const own = mount === undefined || path === undefined ? undefined : directoryOf(mount, path)
  if (own === undefined || mount === undefined || path === undefined) {
    return noLimits(
      'the control group of this process is not visible here',
      'mount the cgroup2 file system of this cgroup namespace on /sys/fs/cgroup',
    )
  }
  const place = { host, path, own, mount }
  return (
    besideVacatedLeaf(place) ?? belowRoot(place) ?? inScope(place) ?? belowOwn(place) ?? besideOwn(place) ?? none(place)
  )
}

const isShown = (mount: CgroupMount, path: string): boolean => directoryOf(mount, path) !== undefined

/** An earlier start, of this or another process, has already moved us to the leaf. */
function besideVacatedLeaf({ host, own }: Place): V2Plan | undefined {
  const parent = dirname(own)
  return basename(own) === vacatedLeaf && host.canWrite(parent) ? planBelow(host, parent, { vacate: false }) : undefined
}

function belowRoot(place: Place): V2Plan | undefined {
  const { host, own } = place
  return isTrueRoot(place) && host.canWrite(own) ? planBelow(host, own, { vacate: false }) : undefined
}

const busPrograms = ['/usr/bin/busctl', '/bin/busctl', '/run/current-system/sw/bin/busctl']

/** systemd owns the tree where it runs: it is asked for a delegated scope rather than bypassed. */
function inScope({ host, mount }: Place): SystemdPlan | undefined {
  const manager = host.uid === 0 ? 'system' : 'user'
  const bus = manager === 'system' ? '/run/dbus/system_bus_socket' : `/run/user/${host.uid}/bus`
  const program = busPrograms.find((path) => host.exists(path))
  if (mount.root !== '/' || program === undefined) return undefined
  if (!host.canWrite(bus) || !host.exists('/run/systemd/system')) return undefined
  const delegated = `/user.slice/user-${host.uid}.slice/user@${host.uid}.service`
  const offered = controllersIn(host, `${mount.point}${manager === 'system' ? '' : delegated}`)
  if (offered.length === 0) return undefined
  return {
    mechanism: 'systemd scope',
    by: `cgroup v2 (systemd ${manager} scope)`,
    enforces: offered,
    missing: missingBut(offered),
    manager,
    uid: host.uid,
    pid: host.pid,
    program,
    unit: host.unit,
    mountPoint: mount.point,
  }
}

/**
 * Children of our own group keep its limits. Others in it are moved one level down only where the group is the whole
 * of a container; elsewhere only when we are alone in it.
 */
function belowOwn(place: Place): V2Plan | undefined {
  const { host, path, own } = place
  const alone = host.read(`${own}/cgroup.procs`)?.trim() === String(host.pid)
  if (isTrueRoot(place) || (path !== '/' && !alone)) return undefined
  const writable = ['', '/cgroup.procs', '/cgroup.subtree_control'].every((name) => host.canWrite(`${own}${name}`))
  return writable ? planBelow(host, own, { vacate: true }) : undefined
}

/** A sibling escapes the limits of our own group, so it is used only where that group has none. */
function besideOwn(place: Place): V2Plan | undefined {
  const { host, own, mount } = place
  const parent = dirname(own)
  if (own === mount.point || !host.canWrite(parent) || !host.canWrite(`${parent}/cgroup.procs`)) return undefined
  const isFree = ['memory.max', 'memory.high', 'pids.max', 'cpu.max'].every((name) => {
    const value = host.read(`${own}/${name}`)
    return value === undefined || value.startsWith('max')
  })
  return isFree ? planBelow(host, parent, { vacate: false, enabledOnly: parent !== mount.point }) : undefined
}

function none({ host, own }: Place): NoLimits {
  if (host.uid !== 0) {
    return noLimits(
      'no control group is delegated to this user, and no systemd user manager answers',
      'log in through systemd (loginctl enable-linger), or start with: systemd-run --user --scope -p Delegate=yes glovebox …',
    )
  }
  if (host.canWrite(own)) {
    return noLimits(
      'the control group of this process holds other processes and limits of its own, so groups can be made neither below nor beside it',
      'start the program in a control group of its own',
    )
  }
  return noLimits(
    'control groups are read-only here',
    'give the container writable control groups (docker run --privileged --cgroupns=private)',
  )
}

function planBelow(
  host: LimitsHost,
  parent: string,
  { vacate, enabledOnly = false }: { readonly vacate: boolean; readonly enabledOnly?: boolean },
): V2Plan | undefined {
  const offered = enabledOnly ? controllersIn(host, parent, 'cgroup.subtree_control') : controllersIn(host, parent)
  if (offered.length === 0) return undefined
  return { mechanism: 'cgroup v2', by: 'cgroup v2', enforces: offered, missing: missingBut(offered), parent, vacate }
}

/** Only the root of the whole machine has no events file; the root of a cgroup namespace has one. */
const isTrueRoot = ({ host, path, own, mount }: Place): boolean =>
  path === '/' && mount.root === '/' && host.read(`${own}/cgroup.events`) === undefined

function controllersIn(host: LimitsHost, directory: string, file = 'cgroup.controllers'): readonly Controller[] {
  const names = (host.read(`${directory}/${file}`) ?? '').trim().split(/\s+/)
  return controllers.filter((what) => names.includes(what))
}

const missingBut = (offered: readonly Controller[]): readonly MissingLimit[] =>
  controllers
    .filter((what) => !offered.includes(what))
    .map((what) => ({
      what,
      why: `the ${what} controller is not delegated to this process`,
      fix: `delegate it: systemctl edit user@.service, then [Service] Delegate=cpu memory pids`,
    }))
