// The quick check: types, lint, format, and the tests that need no sandbox. All at once; prints only what failed.
import { spawn } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { failureLine } from './lane-report.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const laneReport = process.env['GLOVEBOX_LANE_REPORT']
const program = (path) => [process.execPath, join(root, 'node_modules', path)]

// What was looked at and has not changed since is not looked at again.
const remembered = ['--incremental', '--tsBuildInfoFile', join(root, '.cache/types.tsbuildinfo')]

// Whoever reads a pipe or a log has no use for colours, which are most of what a dot is written with.
const env = process.stderr.isTTY ? process.env : { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0' }

const checks = {
  types: [...program('typescript/bin/tsc'), '--noEmit', '-p', 'tsconfig.json', ...remembered],
  lint: [process.execPath, join(root, 'script/lint.mjs')],
  format: [...program('oxfmt/bin/oxfmt'), '--check', '.'],
  tests: [
    ...program('vitest/vitest.mjs'),
    'run',
    '--project',
    'unit',
    '--project',
    'architecture',
    '--experimental.fsModuleCache',
    // What failed comes first, and not after the names of everything that passed.
    '--reporter=dot',
    ...(laneReport === undefined ? [] : [`--reporter=${join(root, 'script/lane-reporter.mjs')}`]),
  ],
}

function run([name, [command, ...argv]]) {
  const start = performance.now()
  return new Promise((resolve) => {
    const child = spawn(command, argv, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
    const output = []
    child.stdout.on('data', (chunk) => output.push(chunk))
    child.stderr.on('data', (chunk) => output.push(chunk))
    child.on('error', (error) => output.push(Buffer.from(`${error.message}\n`)))
    child.on('close', (code) => {
      const seconds = ((performance.now() - start) / 1000).toFixed(1)
      const passed = code === 0
      process.stderr.write(`${passed ? 'ok  ' : 'FAIL'}  ${name.padEnd(7)} ${seconds} s\n`)
      if (!passed) process.stderr.write(Buffer.concat(output))
      // What is no test has no reporter that would tell it.
      if (!passed && name !== 'tests' && laneReport !== undefined)
        appendFileSync(laneReport, failureLine(name, Buffer.concat(output).toString()))
      resolve(passed)
    })
  })
}

const passed = await Promise.all(Object.entries(checks).map(run))
process.exit(passed.every(Boolean) ? 0 : 1)
