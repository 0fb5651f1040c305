// A key under which the server does a thing once, however often it is sent: 128 bits of chance.
// `crypto.randomUUID` would do, but browsers have it on secure pages only.

export const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
