// Runs the built suite with node's own test runner: copied beside a built package by bwrap-user.test.ts and started there
// as another user. It also shows that the suite needs no more of a runner than `describe` and `it`.
import { describe, it } from 'node:test'
import { openBackend } from './dist/backends/registry.js'
import { findSearchProgram } from './dist/runtime/search-program.js'
import { describeBackend } from './dist/testing/index.js'

const stateDir = process.env.GLOVEBOX_STATE_DIR

await describeBackend({
  name: 'bwrap',
  open: () => openBackend('bwrap', { stateDir, searchProgram: findSearchProgram() }),
  required: process.env.GLOVEBOX_REQUIRE === 'bwrap',
  runner: { describe, it },
})
