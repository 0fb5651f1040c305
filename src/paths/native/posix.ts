// Absolute paths of Linux, WSL and macOS, with what is clearly a Windows path refused: on WSL `D:\a` would be a file of that
// name in the current directory.

export type PosixFault = 'is not absolute' | 'is a Windows path' | 'has a part that leads elsewhere'

export function parsePosix(text: string): readonly string[] | PosixFault {
  if (/^[a-z]:(?:[\\/]|$)/i.test(text) || text.startsWith('\\')) return 'is a Windows path'
  if (!text.startsWith('/')) return 'is not absolute'
  const names = text.split('/').filter((name) => name !== '')
  return names.every(isPosixName) ? names : 'has a part that leads elsewhere'
}

export const isPosixName = (name: string): boolean =>
  name !== '' && name !== '.' && name !== '..' && !/[\0/]/.test(name) && new TextEncoder().encode(name).length <= 255

export const formatPosix = (names: readonly string[]): string => `/${names.join('/')}`

/** Where WSL shows Windows' drives unless it was told otherwise. A Windows program does not know this place. */
export const isDriveMount = (text: string): boolean => /^\/mnt\/[a-z](?:\/|$)/i.test(text)
