// The guest's whole environment, built from nothing: what is not named here or by policy does not pass.
// It promises that no value of the operator's leaks by default and that no host-only directory is shown.
// The operator's environment is handed in; this room never reads its own process.
import type { GuestPath } from '../contract/mount.ts'
import { GloveboxError } from '../errors/error.ts'
import { isEnvironmentName } from './check.ts'

type Variables = Readonly<Record<string, string | undefined>>

export interface EnvironmentInput {
  readonly operatorEnv: Variables
  /** Names that policy lets through beside the built-in ones. */
  readonly allow: readonly string[]
  readonly home: GuestPath
  /** Which directories the guest can see at the host's own path: a test, or the roots of what is visible. */
  readonly path: ((directory: string) => boolean) | readonly string[]
  /** Values given by name; they are the last word. */
  readonly extra?: Readonly<Record<string, string>>
}

// SECURITY: an allow-list, so that a new secret in the operator's environment is out by default.
// test/attacks/environment: "a secret of the operator's environment is not in the guest's"
const passed = ['LANG', 'TERM', 'COLORTERM', 'LC_ALL', 'LC_CTYPE', 'USER', 'LOGNAME'] as const

const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

// Linux gives a single `NAME=value` 32 pages with its NUL (MAX_ARG_STRLEN), and arguments and environment
// together a quarter of the stack; beyond either, exec fails with E2BIG after everything else was set up.
const maxValueBytes = 128 * 1024
const maxTotalBytes = 1024 * 1024

export function guestEnvironment({
  operatorEnv,
  allow,
  home,
  path,
  extra = {},
}: EnvironmentInput): Record<string, string> {
  const env = emptyEnvironment()
  for (const name of [...passed, ...allow]) copy(env, operatorEnv, name)
  const isVisible = visibility(path)
  put(env, 'PATH', visiblePath(own(operatorEnv, 'PATH') ?? '', isVisible))
  put(env, 'SHELL', visibleShell(own(operatorEnv, 'SHELL'), isVisible))
  env['HOME'] = home
  env['TMPDIR'] = `${home}/tmp`
  env['XDG_CACHE_HOME'] = `${home}/.cache`
  env['GLOVEBOX'] = '1'
  env['GLOVEBOX_HOME_DIR'] = home
  env['GLOVEBOX_CACHE_DIR'] = `${home}/.cache`
  for (const name of Object.keys(extra)) copy(env, extra, name)
  checkEnvironment(env)
  return env
}

/** `__proto__` is a legal name of a variable: only an object without a prototype can hold it as one. */
const emptyEnvironment = (): Record<string, string> => Object.create(null) as Record<string, string>

const own = (env: Variables, name: string): string | undefined => (Object.hasOwn(env, name) ? env[name] : undefined)

function copy(env: Record<string, string>, from: Variables, name: string): void {
  const value = own(from, name)
  if (value !== undefined) env[name] = value
}

/** Policy may have let the operator's own value through; what is put here replaces or removes it. */
function put(env: Record<string, string>, name: string, value: string | undefined): void {
  if (value === undefined) delete env[name]
  else env[name] = value
}

const parentOf = (file: string): string => file.slice(0, file.lastIndexOf('/')) || '/'

function visibility(path: EnvironmentInput['path']): (directory: string) => boolean {
  if (typeof path === 'function') return path
  const roots = path.filter((root) => root.startsWith('/')).map((root) => root.replace(/\/+$/, ''))
  return (directory) => roots.some((root) => directory === root || directory.startsWith(`${root}/`))
}

// SECURITY: an empty or relative entry means the current directory, which is the guest's; `..` could lead out of a
// visible root. test/attacks/environment: "PATH shows no host-only directory and none relative to the cwd"
const isVisibleDirectory = (directory: string, isVisible: (directory: string) => boolean): boolean =>
  directory.startsWith('/') && !directory.split('/').includes('..') && isVisible(directory)

/** Without a PATH many programs fail in odd ways, so the system's own directories stand in for an empty one. */
function visiblePath(path: string, isVisible: (directory: string) => boolean): string | undefined {
  const visible = (text: string): string =>
    [...new Set(text.split(':'))].filter((directory) => isVisibleDirectory(directory, isVisible)).join(':')
  return visible(path) || visible(systemPath) || undefined
}

function visibleShell(shell: string | undefined, isVisible: (directory: string) => boolean): string | undefined {
  return shell !== undefined && isVisibleDirectory(parentOf(shell), isVisible) ? shell : undefined
}

function invalidEnvironment(name: string, cause: string): GloveboxError {
  // The name may be shown, the value never: it may be a secret.
  const shown = JSON.stringify(name.slice(0, 64))
  return new GloveboxError('INVALID_ENV', `Cannot pass environment variable ${shown}: ${cause}`, {
    hint: 'Names are letters, digits and underscores, at most 128; large or binary values belong into a file.',
    facts: { name: name.slice(0, 128) },
  })
}

function checkVariable(name: string, value: unknown): number {
  if (!isEnvironmentName(name))
    throw invalidEnvironment(name, 'its name is not a name of letters, digits and underscores')
  if (typeof value !== 'string') throw invalidEnvironment(name, 'its value is not text')
  // The length first: nothing is looked for in what is too long.
  const bytes = name.length + Buffer.byteLength(value) + 2
  if (bytes > maxValueBytes) throw invalidEnvironment(name, `it is larger than ${maxValueBytes} bytes`)
  if (value.includes('\0')) throw invalidEnvironment(name, 'its value contains a NUL')
  // Half a character cannot be written as UTF-8 and would arrive as another value.
  if (/\p{Surrogate}/u.test(value)) throw invalidEnvironment(name, 'its value is not well-formed text')
  return bytes
}

/** Throws INVALID_ENV for the first variable that cannot be passed to a process as it is. */
export function checkEnvironment(env: Readonly<Record<string, unknown>>): void {
  let total = 0
  for (const name of Object.keys(env)) {
    total += checkVariable(name, env[name])
    if (total > maxTotalBytes)
      throw invalidEnvironment(name, `with it the environment is larger than ${maxTotalBytes} bytes`)
  }
}
