import { defineConfig } from 'vitest/config'

const seconds = 1000

/** Suites that start real sandboxes. They share two cores and cgroups, so their files run one after another. */
const real = (name: string, testTimeout: number) => ({
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`, ...(name === 'conformance' ? ['examples/**/*.test.ts'] : [])],
    pool: 'forks' as const,
    maxWorkers: 1,
    fileParallelism: false,
    testTimeout,
    hookTimeout: 60 * seconds,
    globalSetup: ['test/fixtures/build.ts'],
    ...(name === 'attacks' ? { setupFiles: ['test/attacks/declared.ts'] } : {}),
  },
})

export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    projects: [
      // They are pure and keep nothing, so one worker may run many of them without loading everything anew.
      { test: { name: 'unit', include: ['src/**/*.test.ts'], testTimeout: 10 * seconds, isolate: false } },
      { test: { name: 'architecture', include: ['test/architecture/**/*.test.ts'], testTimeout: 30 * seconds } },
      real('conformance', 30 * seconds),
      real('attacks', 60 * seconds),
      real('faults', 120 * seconds),
      real('e2e', 60 * seconds),
    ],
  },
})
