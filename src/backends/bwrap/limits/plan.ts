// The words of this room: what can be limited here, by what and where; or why not, and what would mend it.
// Reasons may reach an agent through `describe()`, so they name no path of the host.

export const controllers = ['memory', 'cpu', 'pids'] as const
export type Controller = (typeof controllers)[number]

export interface MissingLimit {
  readonly what: Controller
  readonly why: string
  readonly fix: string
}

interface Offer {
  /** As `describe()` names it. */
  readonly by: string
  readonly enforces: readonly Controller[]
  readonly missing: readonly MissingLimit[]
}

/** Every controller has a hierarchy of its own; a group is one directory in each. */
export interface V1Plan extends Offer {
  readonly mechanism: 'cgroup v1'
  readonly parents: Readonly<Partial<Record<Controller, string>>>
}

export interface V2Plan extends Offer {
  readonly mechanism: 'cgroup v2'
  /** The group below which sandboxes get theirs. */
  readonly parent: string
  /** Only a group without processes may hand controllers to its children: those in the parent are moved to a leaf first. */
  readonly vacate: boolean
}

/** A scope that systemd makes for this process and delegates to it. It becomes a V2Plan once entered. */
export interface SystemdPlan extends Offer {
  readonly mechanism: 'systemd scope'
  readonly manager: 'user' | 'system'
  readonly uid: number
  readonly pid: number
  /** systemd's own client of its bus. */
  readonly program: string
  readonly unit: string
  readonly mountPoint: string
}

export interface NoLimits extends Offer {
  readonly mechanism: 'none'
}

export type LimitsPlan = V1Plan | V2Plan | SystemdPlan | NoLimits

/** What detection asks of the host. Everything is passed in, so that every kind of host can be a fixture. */
export interface LimitsHost {
  readonly uid: number
  readonly pid: number
  /** A name for the scope that no other process, dead or alive, has used since boot. */
  readonly unit: string
  /** /proc/self/cgroup */
  readonly cgroup: string
  /** /proc/self/mountinfo */
  readonly mountinfo: string
  read(path: string): string | undefined
  canWrite(path: string): boolean
  exists(path: string): boolean
}

export interface Limits {
  readonly memoryBytes: number
  readonly cpuCores: number
  readonly pids: number
}

/** The leaf to which processes move that stood where sandboxes need to be. */
export const vacatedLeaf = 'glovebox-host'

export const missingAll = (why: string, fix: string): readonly MissingLimit[] =>
  controllers.map((what) => ({ what, why, fix }))

export const noLimits = (why: string, fix: string): NoLimits => ({
  mechanism: 'none',
  by: 'nothing',
  enforces: [],
  missing: missingAll(why, fix),
})
