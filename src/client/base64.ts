// Base64 with what every platform has.

export function fromBase64(text: string): Uint8Array {
  const binary = atob(text)
  const bytes = new Uint8Array(binary.length)
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at)
  return bytes
}

/** More arguments than this at once overflow the stack of some engines. */
const atOnce = 0x8000

export function toBase64(bytes: Uint8Array): string {
  let binary = ''
  for (let at = 0; at < bytes.length; at += atOnce) binary += String.fromCharCode(...bytes.subarray(at, at + atOnce))
  return btoa(binary)
}
