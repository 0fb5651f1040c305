// Virtual paths exist only in the agent's mind here, so they are exchanged for host paths in everything that a
// command is given (argv, shell text, environment) and host paths for virtual ones in all that it prints.
// What a command reads is not touched: neither its standard input nor the contents of files.
import { posix } from 'node:path'
import type { Transform } from 'node:stream'
import type { GuestPath } from '../../contract/mount.ts'
import { startsInCommand, startsInOutput } from './edges.ts'
import { createMaskStream, type MaskOptions } from './mask-stream.ts'
import { replaceAll, type Replacement } from './replacer.ts'
import { shellSpelling } from './shell-quoting.ts'

/** One virtual directory and the names under which the host knows it: as it was given, and with its links resolved. */
export interface PathPair {
  readonly guest: string
  readonly hosts: readonly [string, ...string[]]
  /** A vault is hidden in output, and its virtual path leads a command nowhere. */
  readonly reachable: boolean
}

export interface Rewriter {
  /** Virtual to host in one argument or value. */
  toHost(text: string): string
  /** Virtual to host in the text of a shell, which keeps its quoting. */
  shellText(text: string): string
  /** Virtual to host in a whole command; the text of `sh -c` keeps its quoting. */
  argv(argv: readonly [string, ...string[]]): [string, ...string[]]
  environment(env: Readonly<Record<string, string>>): Record<string, string>
  /** A directory as the host names it. Outside every pair the host's own tree is meant: nothing is isolated. */
  directory(path: GuestPath): string
  /** Host to virtual. */
  toGuest(text: string): string
  maskStream(options?: MaskOptions): Transform
}

const shells = new Set(['sh', 'bash', 'dash', 'ash', 'zsh', 'ksh'])

export function createRewriter(pairs: readonly PathPair[]): Rewriter {
  const guestToHost: Replacement[] = pairs
    .filter((pair) => pair.reachable)
    .map(({ guest, hosts }) => ({ from: guest, to: hosts[0] }))
  const hostToGuest: Replacement[] = pairs.flatMap(({ guest, hosts }) => hosts.map((from) => ({ from, to: guest })))

  const toHost = (text: string): string => inText(text, (bytes) => replaceAll(bytes, guestToHost, startsInCommand))
  const shellText = (text: string): string =>
    inText(text, (bytes) => replaceAll(bytes, guestToHost, startsInCommand, shellSpelling()))

  return {
    toHost,
    shellText,
    argv([program, ...args]) {
      const script = shellTextIndex(program, args)
      return [toHost(program), ...args.map((arg, index) => (index === script ? shellText(arg) : toHost(arg)))]
    },
    environment: (env) => Object.fromEntries(Object.entries(env).map(([name, value]) => [name, toHost(value)])),
    directory: (path) => posix.normalize(toHostDirectory(path, pairs)),
    toGuest: (text) => inText(text, (bytes) => replaceAll(bytes, hostToGuest, startsInOutput)),
    maskStream: (options) => createMaskStream(hostToGuest, options),
  }
}

/** Text without a path of ours is handed back as it is, so that nothing else about it can change. */
function inText(text: string, change: (bytes: Buffer) => Buffer): string {
  const before = Buffer.from(text)
  const after = change(before)
  return after.equals(before) ? text : after.toString()
}

/** Which argument of a shell is its program text: the one after the option with a `c`, as in `-c`, `-lc`, `-ec`, and
 * after a `--` that ends the options. */
function shellTextIndex(program: string, args: readonly string[]): number {
  if (!shells.has(posix.basename(program))) return -1
  const option = args.findIndex((arg) => /^-[A-Za-z]*c[A-Za-z]*$/.test(arg))
  if (option === -1) return -1
  return args[option + 1] === '--' ? option + 2 : option + 1
}

function toHostDirectory(path: GuestPath, pairs: readonly PathPair[]): string {
  const inside = pairs
    .filter(({ guest, reachable }) => reachable && (path === guest || path.startsWith(`${guest}/`)))
    .sort((a, b) => b.guest.length - a.guest.length)[0]
  return inside === undefined ? path : `${inside.hosts[0]}${path.slice(inside.guest.length)}`
}
