// bwrap with the very arguments that the library gives it, started by nothing but spawn: the yardstick for an exec.
import { spawn } from 'node:child_process'
import { closeSync, copyFileSync, chmodSync, mkdirSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { boundaryArguments, environmentArguments, gateLimits, type Layout } from '../src/backends/bwrap/compile.ts'
import { findBwrap, gatherFacts, type HostFacts } from '../src/backends/bwrap/facts.ts'
import { gateCommand } from '../src/backends/bwrap/gate.ts'
import { guestKernelId } from '../src/backends/bwrap/launcher/kernel-id.ts'
import { compileFilter } from '../src/backends/bwrap/seccomp/filter.ts'
import type { SandboxSpec } from '../src/contract/backend.ts'
import type { HostPath } from '../src/contract/mount.ts'
import type { PolicyLayer } from '../src/contract/policy.ts'
import { openSpawner } from '../src/process/spawn.ts'
import { planSandbox } from '../src/runtime/create.ts'
import type { Contestant } from './interleave.ts'
import type { Place } from './place.ts'

/** The names that a live sandbox on this empty workspace holds must be on the disk while this runs. */
export async function rawBwrap(
  place: Place,
  workspace: string,
  argv: readonly string[],
  layers: readonly PolicyLayer[] = [],
): Promise<Contestant> {
  const { plan } = await planSandbox({ layers, mounts: [{ guestPath: '/workspace', hostPath: workspace }] })
  const facts = await readFacts(place)
  const options = Buffer.from(
    words(plan.spec, facts, workspace)
      .map((word) => `${word}\0`)
      .join(''),
  )
  const filterFile = join(place.path, 'filter')
  writeFileSync(filterFile, compileFilter({ arch: facts.architecture, pty: false }).bytes)
  const gate = gateCommand({ ...gateLimits(plan.spec, facts), names: Object.keys(plan.spec.env) })
  const ids = facts.startedByRoot ? { uid: guestKernelId, gid: guestKernelId } : {}
  return () =>
    new Promise((resolve, reject) => {
      const filter = openSync(filterFile, 'r')
      const child = spawn(facts.bwrapPath, ['--args', '3', '--', ...gate, ...argv], {
        cwd: '/',
        env: {},
        stdio: ['ignore', 'pipe', 'pipe', 'pipe', filter, 'pipe', 'pipe'],
        ...ids,
      })
      closeSync(filter)
      let said = ''
      child.stdout?.resume()
      child.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')))
      const streams = child.stdio as readonly unknown[]
      ;(streams[3] as NodeJS.WritableStream).end(options)
      ;(streams[6] as NodeJS.WritableStream).end('\n')
      ;(streams[5] as NodeJS.ReadableStream).on('data', () => {})
      child.once('error', reject)
      child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`bwrap ended with ${code}: ${said}`))))
    })
}

async function readFacts(place: Place): Promise<HostFacts> {
  const found = findBwrap()
  if (!('path' in found)) throw new Error(found.reason)
  const { findSearchProgram } = await import('../src/runtime/search-program.ts')
  const searchProgram = join(place.path, 'rg') as HostPath
  copyFileSync(findSearchProgram(), searchProgram)
  chmodSync(searchProgram, 0o755)
  const stateDir = join(place.path, 'facts')
  mkdirSync(stateDir, { recursive: true })
  return gatherFacts(openSpawner(), { bwrapPath: found.path, searchProgram, stateDir })
}

function words(spec: SandboxSpec, facts: HostFacts, workspace: string): readonly string[] {
  const held = [...new Set(spec.policy.protect.map((name) => name.split('/')[0] as string))]
  const layout: Layout = {
    home: { path: spec.home.hostPath },
    mounts: spec.mounts.map((mount) => ({ mount, source: { path: mount.hostPath } })),
    searchProgram: { path: facts.searchProgram },
    guards: held.map((name) => ({ guestPath: `/workspace/${name}`, source: join(workspace, name), rule: 'readonly' })),
    masks: [],
  }
  return [...boundaryArguments(spec, facts, layout), ...environmentArguments(spec.env), '--chdir', spec.cwd]
}
