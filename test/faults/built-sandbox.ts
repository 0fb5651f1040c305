// The runtime's own door of the built package, for tests that bring a backend which they opened from the same build.
const { createSandbox: create } = (await import(
  new URL('../../dist/runtime/create.js', import.meta.url).href
)) as typeof import('../../src/runtime/create.ts')

export const createSandbox = create
