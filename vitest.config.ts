import { defineConfig } from 'vitest/config'

const seconds = 1000

/** For what comes to pass in another process, on a machine on which others work too. What never comes is told apart all the same. */
const patience = { poll: { timeout: 20 * seconds } }

/** Suites that start real sandboxes. They share two cores and cgroups, so their files run one after another. Their time is many times what the
 * longest of their tests takes: it is for what hangs. */
const real = (name: string, testTimeout: number) => ({
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`, ...(name === 'conformance' ? ['examples/**/*.test.ts'] : [])],
    pool: 'forks' as const,
    maxWorkers: 1,
    fileParallelism: false,
    testTimeout,
    hookTimeout: 120 * seconds,
    expect: patience,
    globalSetup: ['test/fixtures/build.ts'],
    ...(name === 'attacks' ? { setupFiles: ['test/attacks/declared.ts'] } : {}),
  },
})

export default defineConfig({
  test: {
    pool: 'forks',
    // One more than the cores of a small machine: tests wait, too.
    maxWorkers: 3,
    projects: [
      // They are pure and keep nothing, so one worker may run many of them without loading everything anew.
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts'],
          testTimeout: 30 * seconds,
          expect: patience,
          isolate: false,
        },
      },
      { test: { name: 'architecture', include: ['test/architecture/**/*.test.ts'], testTimeout: 120 * seconds } },
      real('conformance', 180 * seconds),
      real('attacks', 180 * seconds),
      real('faults', 300 * seconds),
      real('e2e', 180 * seconds),
    ],
  },
})
