// Starts a child without a copy of this process. Node forks: the kernel then copies the tables of all our memory, and each page that we
// write afterwards, which takes a server longer than all else of a start. posix_spawn shares the memory until the child has become
// its program. It sets no ids, so the calling thread has the child's for that moment: ids are each thread's own in Linux.
// Only for a thread of its own, or a process that is all ours, started by root. It follows no child: whoever starts one asks for its end.
import { getSystemErrorName } from 'node:util'
import { constants } from 'node:os'
import { createDescriptorWatch } from './descriptors.ts'
import { findKoffi } from './koffi.ts'
import type { ChildEnd } from './spawn.ts'

export interface LightRequest {
  /** From the root. */
  readonly file: string
  readonly args: readonly string[]
  readonly uid: number
  readonly gid: number
  /** By index: what the child has at that descriptor. It has no others. */
  readonly stdio: readonly number[]
  /** Default: none. */
  readonly env?: Readonly<Record<string, string>>
  /** In a session and process group of its own. */
  readonly detached?: boolean
}

export interface LightSpawner {
  /** In the root directory. Gives its pid, which stays its own until it has been asked for its end. */
  start(request: LightRequest): number
  /** Undefined while it runs. To be asked no more after an answer. */
  findEnd(pid: number): ChildEnd | undefined
}

/** Kernel calls for the calling thread alone; the C library's own would change all threads. */
const callsOf: Readonly<Record<string, { setgroups: number; setresuid: number; setresgid: number }>> = {
  x64: { setgroups: 116, setresuid: 117, setresgid: 119 },
  arm64: { setgroups: 159, setresuid: 147, setresgid: 149 },
}

const setSignalDefaults = 0x04
const setSignalMask = 0x08
const newSession = 0x80
const duplicateCloseOnExec = 1030
const withoutWaiting = 1
const [getDumpable, setDumpable] = [3, 4]
const [setDeathSignal, getDeathSignal] = [1, 2]
/** More than any C library's structure of these needs. */
const roomy = 1024

type Call = (...values: readonly unknown[]) => number | bigint

/** Undefined where it cannot be done: without koffi, on another processor, with another C library, or for another user than root. */
export function loadLightSpawner(): LightSpawner | undefined {
  const koffi = findKoffi()
  const numbers = callsOf[process.arch]
  if (koffi === undefined || numbers === undefined || process.getuid?.() !== 0 || process.geteuid?.() !== 0)
    return undefined
  const libc = koffi.load(null)
  let native
  try {
    native = declare((words) => libc.func(words) as Call)
  } catch {
    return undefined
  }
  const { syscall, prctl, ask, fcntl, spawn, waitpid, actions, attributes, close } = native
  const before = { gid: process.getgid?.() ?? 0, groups: Int32Array.from(process.getgroups?.() ?? []) }
  const check = (what: string, result: number | bigint): number => {
    if (Number(result) >= 0) return Number(result)
    throw failed(what, koffi.errno())
  }
  const deathSignal = (): number => {
    const signal: [number] = [0]
    check('prctl', ask(getDeathSignal, signal))
    return signal[0]
  }
  const setGroups = (groups: Int32Array): number | bigint =>
    syscall(numbers.setgroups, 'size_t', groups.length, 'void *', Buffer.from(groups.buffer))
  const setGid = (gid: number): number | bigint => syscall(numbers.setresgid, 'int', gid, 'int', gid, 'int', gid)
  const setUid = (uid: number, saved: number): number | bigint =>
    syscall(numbers.setresuid, 'int', uid, 'int', uid, 'int', saved)

  /** SECURITY: never kernel uid 0, and no group of ours. test/attacks/kernel: "the guest is not root in the kernel's eyes" */
  const as = <T>({ uid, gid }: Pick<LightRequest, 'uid' | 'gid'>, work: () => T): T => {
    const wasDumpable = prctl(getDumpable, 0)
    const whenParentDies = deathSignal()
    const parent = process.ppid
    try {
      check('setgroups', setGroups(new Int32Array()))
      check('setresgid', setGid(gid))
      // Root stays the saved id, which the way back needs; a program that is started has the effective one in its place.
      check('setresuid', setUid(uid, 0))
      return work()
    } finally {
      check('setresuid', setUid(0, 0))
      check('setresgid', setGid(before.gid))
      check('setgroups', setGroups(before.groups))
      // A change of ids takes both: the one from the whole process, and the signal that somebody may count on from the thread.
      prctl(setDumpable, Number(wasDumpable))
      if (whenParentDies !== 0) prctl(setDeathSignal, whenParentDies)
      if (whenParentDies !== 0 && process.ppid !== parent) process.kill(process.pid, whenParentDies)
    }
  }

  return {
    start({ file, args, uid, gid, stdio, env = {}, detached = false }) {
      const moved: number[] = []
      // One of a number that the child uses itself would be covered before it is handed on.
      const clear = (descriptor: number): number => {
        if (descriptor >= stdio.length) return descriptor
        const elsewhere = check('fcntl', fcntl(descriptor, duplicateCloseOnExec, 'int', stdio.length))
        moved.push(elsewhere)
        return elsewhere
      }
      const pid: [number] = [0]
      const plan = actions.open()
      try {
        stdio.map(clear).forEach((descriptor, index) => actions.duplicate(plan, descriptor, index))
        // SECURITY: one that our own parent left open without close-on-exec would reach the guest.
        // test/attacks/descriptors: "a descriptor inherited by the host process does not reach the guest"
        actions.closeFrom(plan, stdio.length)
        actions.enterRoot(plan)
        const given = attributes.open(detached)
        const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`)
        try {
          const error = as({ uid, gid }, () =>
            spawn(pid, file, plan, given, [file, ...args, null], [...variables, null]),
          )
          if (error !== 0) throw failed('posix_spawn', Number(error))
        } finally {
          attributes.close(given)
        }
        return pid[0]
      } finally {
        actions.end(plan)
        for (const descriptor of moved) close(descriptor)
      }
    },
    findEnd(pid) {
      const status: [number] = [0]
      return check('waitpid', waitpid(pid, status, withoutWaiting)) === 0 ? undefined : endOf(status[0])
    },
  }
}

function declare(func: (words: string) => Call) {
  const [init, destroy] = [
    func('int posix_spawn_file_actions_init(void *actions)'),
    func('int posix_spawn_file_actions_destroy(void *actions)'),
  ]
  const duplicate = func('int posix_spawn_file_actions_adddup2(void *actions, int from, int to)')
  const closeFrom = closingFrom(func)
  const enter = func('int posix_spawn_file_actions_addchdir_np(void *actions, const char *path)')
  const initAttributes = func('int posix_spawnattr_init(void *attributes)')
  const endAttributes = func('int posix_spawnattr_destroy(void *attributes)')
  const setFlags = func('int posix_spawnattr_setflags(void *attributes, short flags)')
  const setDefaults = func('int posix_spawnattr_setsigdefault(void *attributes, void *signals)')
  const setMask = func('int posix_spawnattr_setsigmask(void *attributes, void *signals)')
  const [fill, empty] = [func('int sigfillset(void *signals)'), func('int sigemptyset(void *signals)')]
  return {
    syscall: func('long syscall(long number, ...)'),
    prctl: func('int prctl(int option, unsigned long value)'),
    ask: func('int prctl(int option, _Out_ int *answer)'),
    fcntl: func('int fcntl(int descriptor, int command, ...)'),
    close: func('int close(int descriptor)'),
    waitpid: func('int waitpid(int pid, _Out_ int *status, int options)'),
    spawn: func(
      'int posix_spawn(_Out_ int *pid, const char *path, void *actions, void *attributes, const char **argv, const char **envp)',
    ),
    actions: {
      open(): Buffer {
        const room = Buffer.alloc(roomy)
        must(init(room))
        return room
      },
      duplicate: (plan: Buffer, from: number, to: number): void => must(duplicate(plan, from, to)),
      closeFrom,
      enterRoot: (plan: Buffer): void => must(enter(plan, '/')),
      end: (plan: Buffer): void => void destroy(plan),
    },
    attributes: {
      /** Node ignores SIGPIPE and may block others; a program must find all signals as they are by default. */
      open(detached: boolean): Buffer {
        const [room, all, none] = [Buffer.alloc(roomy), Buffer.alloc(roomy), Buffer.alloc(roomy)]
        must(initAttributes(room))
        fill(all)
        empty(none)
        must(setDefaults(room, all))
        must(setMask(room, none))
        must(setFlags(room, setSignalDefaults | setSignalMask | (detached ? newSession : 0)))
        return room
      },
      close: (room: Buffer): void => void endAttributes(room),
    },
  }
}

function must(error: number | bigint): void {
  if (error !== 0) throw failed('posix_spawn', Number(error))
}

/** The child closes all from there on with one call; before glibc 2.34 those that it would keep, which must be looked for each time. */
function closingFrom(func: (words: string) => Call): (plan: Buffer, first: number) => void {
  try {
    const closeFrom = func('int posix_spawn_file_actions_addclosefrom_np(void *actions, int first)')
    return (plan, first) => must(closeFrom(plan, first))
  } catch {
    const close = func('int posix_spawn_file_actions_addclose(void *actions, int descriptor)')
    const inherited = createDescriptorWatch()
    return (plan, first) => {
      for (const descriptor of inherited()) if (descriptor >= first) must(close(plan, descriptor))
    }
  }
}

/** As wait(2) tells it. */
export function endOf(status: number): ChildEnd {
  const number = status & 0x7f
  if (number === 0) return { code: (status >> 8) & 0xff, signal: null }
  const found = Object.entries(constants.signals).find(([, value]) => value === number)
  return { code: null, signal: (found?.[0] ?? `SIG${number}`) as NodeJS.Signals }
}

function failed(what: string, errno: number): Error {
  const code = getSystemErrorName(-errno)
  return Object.assign(new Error(`${what}: ${code}`), { code })
}
