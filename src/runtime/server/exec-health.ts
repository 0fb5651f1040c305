// What `/sandbox/health` tells: where execs run, by what, and whether they can.
import { accessSync, constants } from 'node:fs'
import type { ExecHealth } from '../../contract/exec-record.ts'
import { GloveboxError } from '../../errors/error.ts'
import type { Execs } from '../../execs/execs.ts'
import type { NativeRoot } from '../../paths/native/adapt.ts'
import type { ServedBackends } from './backends.ts'

/** What works is remembered by whoever probed it. What does not is not, and would be tried anew by each who asks. */
const doubtedMs = 3000

interface Probed {
  readonly told: ExecHealth['backends'][number]
  readonly details: Readonly<Record<string, string>>
}

export function openExecHealth(
  workspace: NativeRoot,
  backends: ServedBackends,
  execs: Execs,
): () => Promise<ExecHealth> {
  let known: { readonly probed: readonly Probed[]; readonly until: number } | undefined
  let probing: Promise<readonly Probed[]> | undefined
  const probeAll = async (): Promise<readonly Probed[]> => {
    const probed = await Promise.all(backends.names.map((name) => probeOne(backends, name)))
    const isWell = probed.every(({ told }) => told.available)
    known = isWell ? undefined : { probed, until: performance.now() + doubtedMs }
    return probed
  }
  const probe = (): Promise<readonly Probed[]> => {
    if (known !== undefined && performance.now() < known.until) return Promise.resolve(known.probed)
    probing ??= probeAll().finally(() => (probing = undefined))
    return probing
  }
  return async () => healthOf(workspace, await probe(), execs)
}

async function healthOf(workspace: NativeRoot, probed: readonly Probed[], execs: Execs): Promise<ExecHealth> {
  const docker = probed.find(({ told }) => told.name === 'docker')
  const isWritable = canWrite(workspace.host_path_native)
  return {
    status: isWritable && probed[0]?.told.available === true ? 'ok' : 'degraded',
    runtime_mode: workspace.runtime,
    workspace_root_native: workspace.host_path_native,
    workspace_writable: isWritable,
    docker:
      docker === undefined
        ? null
        : {
            cli_path: docker.details['cli'] ?? null,
            mount_path: workspace.docker_mount_path,
            version: docker.told.version,
            context: docker.details['context'] ?? null,
            available: docker.told.available,
          },
    backends: probed.map(({ told }) => told),
    execs: {
      running: execs.running,
      queued: await execs.countQueued(),
      max_concurrent: execs.limits.maxConcurrent,
      max_queued: execs.limits.maxQueued,
    },
  }
}

async function probeOne(backends: ServedBackends, name: string): Promise<Probed> {
  try {
    const { available, version, reason, fix, details } = await (await backends.get(name)).probe()
    const told = { name, available, version: version ?? null, reason: reason ?? null, fix: fix ?? null }
    return { told, details: details ?? {} }
  } catch (error) {
    const reason = error instanceof GloveboxError ? error.message : 'it cannot be opened'
    return { told: { name, available: false, version: null, reason, fix: null }, details: {} }
  }
}

function canWrite(root: string): boolean {
  try {
    accessSync(root, constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}
