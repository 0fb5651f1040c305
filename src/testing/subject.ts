// Gives cases what they may touch, and takes it away afterwards. All host directories lie below one root whose
// name carries the host mark, so that a leaked path is recognised wherever it appears.
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Backend } from '../contract/backend.ts'
import { newSandboxId, type SandboxId } from '../contract/ids.ts'
import type { PolicyLayer } from '../contract/policy.ts'
import type { Sandbox } from '../contract/sandbox.ts'
import { createSandbox } from '../runtime/create.ts'
import type { CaseSandboxOptions, CaseSpecOptions, OpenBoundary, Scene, SceneName, Subject } from './case.ts'
import { hostMark } from './expect.ts'
import { scenes } from './scenes.ts'
import { handMadeSpec } from './spec.ts'

/** Everything that one run of the suite made. */
export interface Stage {
  /** The subject of one case. `leave` ends what the case made for itself. */
  enter(room: string): { readonly subject: Subject; leave(): Promise<void> }
  /** Ends all shared sandboxes; returns every id that this run ever made. */
  close(): Promise<readonly SandboxId[]>
}

function layersOf(options: CaseSandboxOptions): PolicyLayer[] {
  const layers: PolicyLayer[] = []
  if (options.settings) layers.push({ layer: 'settings', source: 'conformance suite', values: options.settings })
  if (options.request) layers.push({ layer: 'request', source: 'conformance case', values: options.request })
  return layers
}

export async function openStage(backend: Backend): Promise<Stage> {
  const root = await realpath(await mkdtemp(join(tmpdir(), `${hostMark}-`)))
  const ids: SandboxId[] = []
  const shared = new Map<SceneName, Promise<Scene>>()
  let directories = 0

  const directory = async (): Promise<string> => {
    directories += 1
    const path = join(root, `d${directories}`)
    await mkdir(path)
    return path
  }

  const make = async (options: CaseSandboxOptions): Promise<Sandbox> => {
    const sandbox = await createSandbox({
      backend,
      mounts: options.mounts ?? [{ guestPath: '/workspace', hostPath: await directory() }],
      layers: layersOf(options),
      ...(options.env ? { env: options.env } : {}),
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    })
    ids.push(sandbox.id)
    return sandbox
  }

  const openScene = async (name: SceneName): Promise<Scene> => {
    const plan = await scenes[name](join(root, name))
    const sandbox = await make(plan)
    const hosts = new Map(plan.mounts.map((mount) => [mount.guestPath, mount.hostPath]))
    return {
      sandbox,
      host(guestPath) {
        const path = hosts.get(guestPath)
        if (path === undefined) throw new Error(`the scene ${name} has no mount ${guestPath}`)
        return path
      },
    }
  }

  const scene = (name: SceneName): Promise<Scene> => {
    const known = shared.get(name) ?? openScene(name)
    shared.set(name, known)
    return known
  }

  const enter: Stage['enter'] = (room) => {
    const own: Sandbox[] = []
    const boundaries: SandboxId[] = []

    const spec = async (options?: CaseSpecOptions) => {
      const place = await directory()
      await mkdir(join(place, 'workspace'))
      await mkdir(join(place, 'home'))
      return handMadeSpec(place, options)
    }

    const openBoundary = async (options?: CaseSpecOptions): Promise<OpenBoundary> => {
      const made = await spec(options)
      const id = newSandboxId()
      ids.push(id)
      boundaries.push(id)
      const boundary = await backend.create(id, backend.compile(made))
      return { boundary, workspace: made.mounts[0]?.hostPath ?? '' }
    }

    const subject: Subject = {
      backend,
      workspace: join(root, 'plain', 'workspace'),
      scene,
      directory,
      spec,
      boundary: openBoundary,
      async room(inside) {
        const host = join(inside.host('/workspace'), room)
        await mkdir(host, { recursive: true })
        return { guest: `/workspace/${room}`, host }
      },
      async create(options = {}) {
        const sandbox = await make(options)
        own.push(sandbox)
        return sandbox
      },
    }

    return {
      subject,
      async leave() {
        for (const sandbox of own) await sandbox.kill()
        for (const id of boundaries) await backend.destroy(id)
      },
    }
  }

  return {
    enter,
    async close() {
      // A scene that could not be opened has failed its cases already, and made nothing that could be left behind.
      for (const opened of await Promise.allSettled(shared.values())) {
        if (opened.status === 'fulfilled') await opened.value.sandbox.kill()
      }
      await rm(root, { recursive: true, force: true })
      return ids
    },
  }
}
