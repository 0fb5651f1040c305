// Absolute Windows paths: `D:\a\b`, `\\server\share\a`, and the long form `\\?\D:\a` that has no limit of length. Read into
// parts and written again, never patched as text. Everything that depends on a current directory or drive is refused.

export interface WindowsPath {
  /** `D:` in capitals, or `\\server\share`. */
  readonly root: string
  readonly names: readonly string[]
}

export type WindowsFault = 'is not absolute' | 'has a part that Windows reads otherwise' | 'is a device'

/** From here on the ordinary form is refused by most of Windows; the last twelve are kept for a name below. */
const longestOrdinary = 260 - 12

const reserved = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3])(?:\..*)?$/i
const forbidden = /[\p{Cc}<>:"|?*]/u

export function parseWindows(text: string): WindowsPath | WindowsFault {
  // In the long form a forward slash is no separator, and nothing else can have one in its name.
  if (/^\\\\\?\\.*\//s.test(text)) return 'has a part that Windows reads otherwise'
  if (/^\\\\\?\\UNC\\/i.test(text)) return parseUnc(text.slice('\\\\?\\UNC\\'.length))
  if (/^\\\\\?\\[a-z]:(?:\\|$)/i.test(text)) return parseDrive(text.slice('\\\\?\\'.length))
  // `\\.\pipe\x`, `\\?\Volume{…}`, `\\?\GLOBALROOT\…`
  if (/^[\\/]{2}[.?](?:[\\/]|$)/.test(text)) return 'is a device'
  if (/^[\\/]{2}/.test(text)) return parseUnc(text.slice(2))
  return parseDrive(text)
}

function parseDrive(text: string): WindowsPath | WindowsFault {
  // `D:` and `D:a` begin wherever the program happens to be on that drive.
  const [, letter, rest] = /^([a-z]):[\\/](.*)$/is.exec(text) ?? []
  if (letter === undefined || rest === undefined) return 'is not absolute'
  return withNames(`${letter.toUpperCase()}:`, rest)
}

function parseUnc(text: string): WindowsPath | WindowsFault {
  const [, server, share, rest] = /^([^\\/]+)[\\/]([^\\/]+)(?:[\\/](.*))?$/s.exec(text) ?? []
  if (server === undefined || share === undefined) return 'is not absolute'
  if (forbidden.test(server) || !isWindowsName(share)) return 'has a part that Windows reads otherwise'
  return withNames(`\\\\${server}\\${share}`, rest ?? '')
}

function withNames(root: string, rest: string): WindowsPath | WindowsFault {
  const names = rest.split(/[\\/]+/).filter((name) => name !== '')
  return names.every(isWindowsName) ? { root, names } : 'has a part that Windows reads otherwise'
}

/** Windows drops dots and spaces at the end of a name, and takes some names for devices, with any ending. */
export const isWindowsName = (name: string): boolean =>
  name !== '' &&
  name.length <= 255 &&
  !forbidden.test(name) &&
  !/[. ]$/.test(name) &&
  !/[\\/]/.test(name) &&
  !reserved.test(name)

/** For programs of this host: in the long form where it must be. */
export function formatWindows({ root, names }: WindowsPath): string {
  const plain = `${root}\\${names.join('\\')}`
  if (plain.length < longestOrdinary) return plain
  return root.startsWith('\\\\') ? `\\\\?\\UNC${plain.slice(1)}` : `\\\\?\\${plain}`
}

/** For Docker, which takes forward slashes and has no use for the long form: its daemon is no Windows program. */
export const formatForDocker = ({ root, names }: WindowsPath): string =>
  [root.replaceAll('\\', '/'), ...names].join('/') + (names.length === 0 ? '/' : '')

/** A share that is really the file system of a WSL distribution: Docker Desktop can mount it, and no other share. */
export const isWslShare = ({ root }: WindowsPath): boolean => /^\\\\(?:wsl\$|wsl\.localhost)\\/i.test(root)
