// The chance in an id: 128 bits as 32 small hexadecimal digits. From web crypto, which browsers have too; its `randomUUID` is there
// on secure pages only, and has less of it.

// SECURITY: nothing in an id follows from the time or from another id, so that of one that is known no other can be guessed.
// test/e2e/server-identity: "an id that is next to a known one is not found, nor are two that were made together alike"
export function chance(): string {
  let digits = ''
  for (const byte of crypto.getRandomValues(new Uint8Array(16))) digits += byte.toString(16).padStart(2, '0')
  return digits
}
