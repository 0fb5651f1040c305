// Runs the built suite with node's own test runner: copied beside a built package by other-user.ts and started there as another
// user. It also shows that the suite needs no more of a runner than `describe` and `it`.
import { describe, it } from 'node:test'
import { openBackend } from './dist/backends/registry.js'
import { findSearchProgram } from './dist/runtime/search-program.js'
import { describeBackend } from './dist/testing/index.js'

const { GLOVEBOX_STATE_DIR: stateDir, GLOVEBOX_REQUIRE: required } = process.env
const {
  GLOVEBOX_TEST_BACKEND: name = 'bwrap',
  GLOVEBOX_TEST_IMAGE: image,
  GLOVEBOX_TEST_RUNTIME: runtime,
} = process.env

await describeBackend({
  name,
  open: () =>
    openBackend(name, {
      stateDir,
      searchProgram: findSearchProgram(),
      docker: { image, runtime },
      operatorEnv: process.env,
    }),
  required: required === name,
  runner: { describe, it },
})
