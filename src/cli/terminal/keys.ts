// The few keys that are the operator's and not the guest's: Ctrl-] and one more. Everything else is typed as it is.

export interface Typed {
  /** For the guest. */
  readonly bytes: Uint8Array
  readonly wish?: 'detach' | 'help'
}

export interface Keys {
  take(bytes: Uint8Array): Typed
}

const prefix = 0x1d
const detach: ReadonlySet<number> = new Set(['d', 'D', '\u0004'].map((key) => key.charCodeAt(0)))

export const keysHelp = 'Ctrl-] d leaves the terminal to itself; Ctrl-] Ctrl-] types Ctrl-].'

export function createKeys(): Keys {
  let isPrefixed = false
  return {
    take(bytes) {
      const typed: number[] = []
      for (const byte of bytes) {
        if (!isPrefixed && byte === prefix) isPrefixed = true
        else if (!isPrefixed) typed.push(byte)
        else {
          isPrefixed = false
          if (detach.has(byte)) return { bytes: Uint8Array.from(typed), wish: 'detach' }
          if (byte !== prefix) return { bytes: Uint8Array.from(typed), wish: 'help' }
          typed.push(prefix)
        }
      }
      return { bytes: Uint8Array.from(typed) }
    },
  }
}
