// The built package. The launcher for root starts a worker thread from a file of its own, and only the build has that
// file as JavaScript; everything must then come from the build, since two copies of one error class are two classes.
const door = (path: string): string => new URL(`../../dist/${path}`, import.meta.url).href

export const { openBackend } = (await import(
  door('backends/registry.js')
)) as typeof import('../../src/backends/registry.ts')
export const { findSearchProgram } = (await import(
  door('runtime/search-program.js')
)) as typeof import('../../src/runtime/search-program.ts')
export const { describeBackend, describeProvider } = (await import(
  door('testing/index.js')
)) as typeof import('../../src/testing/index.ts')
export const { openProvider } = (await import(
  door('runtime/pool/holder.js')
)) as typeof import('../../src/runtime/pool/holder.ts')
