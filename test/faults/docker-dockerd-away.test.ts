// The Docker daemon hangs, or is killed, under the commands of sandboxes: on runc, and on gVisor, whose guests are no processes of the host's.
// What must end ends without the daemon, and nothing of it is left when the daemon is back.
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Backend } from '../../src/contract/backend.ts'
import type { ExecResult, RunOptions } from '../../src/contract/exec.ts'
import type { HostPath } from '../../src/contract/mount.ts'
import type { Sandbox } from '../../src/contract/sandbox.ts'
import { findSearchProgram, openBackend } from '../conformance/built.ts'
import { isRequired } from '../conformance/required.ts'
import { createSandbox } from './built-sandbox.ts'
import { dockerHasRuntime, runscImage } from './exec-targets.ts'
import { until } from './lasting-execs.ts'
import { privateDockerd, reasonWithout, type PrivateDockerd } from './private-dockerd.ts'

const image = 'glovebox/sandbox:latest'
const canRun = reasonWithout(image) === undefined || isRequired('dockerd')
const hasGvisor = (dockerHasRuntime('runsc') && reasonWithout(runscImage) === undefined) || isRequired('docker-runsc')

const onRunc = { name: 'runc', docker: { image } }
const onGvisor = { name: 'runsc', docker: { image: runscImage, runtime: 'runsc' } }
const runtimes = hasGvisor ? [onRunc, onGvisor] : [onRunc]

interface Ground {
  readonly name: string
  readonly backend: Backend
  readonly stateDir: string
  create(): Promise<Subject>
}

interface Subject {
  readonly sandbox: Sandbox
  readonly workspace: string
}

describe.skipIf(!canRun)('commands of sandboxes under a daemon of their own', () => {
  const place = mkdtempSync(join(tmpdir(), 'glovebox-away-'))
  let daemon: PrivateDockerd
  let all: readonly Ground[]
  let made = 0

  const openGround = async ({ name, docker }: (typeof runtimes)[number]): Promise<Ground> => {
    const stateDir = join(place, `state-${name}`) as HostPath
    mkdirSync(stateDir, { mode: 0o700 })
    const operatorEnv = { ...process.env, DOCKER_HOST: daemon.host }
    const backend = await openBackend('docker', { stateDir, searchProgram: findSearchProgram(), operatorEnv, docker })
    const create = async (): Promise<Subject> => {
      const workspace = join(place, `workspace-${++made}`)
      mkdirSync(workspace)
      chownSync(workspace, 1000, 1000)
      const mounts = [{ guestPath: '/workspace', hostPath: workspace }]
      return { workspace, sandbox: await createSandbox({ backend, mounts, layers: [] }) }
    }
    return { name, backend, stateDir, create }
  }

  beforeAll(async () => {
    daemon = await privateDockerd(runtimes.map(({ docker }) => docker.image))
    all = await Promise.all(runtimes.map(openGround))
  })
  afterAll(async () => {
    daemon.signal('SIGCONT')
    for (const { backend } of all) await backend.close?.()
    await daemon.remove()
    rmSync(place, { recursive: true, force: true })
  })

  const isClear = (): boolean => daemon.docker('ps', '-aq').trim() === ''

  it('end at their time, by a cancel and with their sandbox, on every runtime, while it hangs', async () => {
    const subjects = await Promise.all(
      all.map(async ({ name, create }) => {
        const [kept, ending] = [await create(), await create()]
        const cancel = new AbortController()
        const late = begin(kept, 'late', { timeoutMs: 30_000 })
        const cancelled = begin(kept, 'cancelled', { signal: cancel.signal })
        const fed = begin(kept, 'fed', { signal: cancel.signal, stdin: 'input' })
        const killed = begin(ending, 'killed')
        const beats = [late, cancelled, fed, killed]
        await until(() => beats.every(({ beat }) => existsSync(beat)))
        return { name, kept, ending, cancel, late, cancelled, fed, killed, beats }
      }),
    )
    daemon.signal('SIGSTOP')
    const ends = subjects.map(async ({ name, kept, ending, cancel, late, cancelled, fed, killed, beats }) => {
      // The control: that it hangs ends nothing.
      await Promise.all(beats.map(({ beat }) => untilTicking(beat)))
      // For this one docker is asked to make a further container, which may come to be when the daemon goes on.
      const unbegun = kept.sandbox.commands.run('echo never >never').catch((error: { code?: string }) => error.code)
      cancel.abort()
      const ended = [
        (await cancelled.result)?.ended.by,
        (await fed.result)?.ended.by,
        (await late.result)?.ended.by,
        await ending.sandbox.kill(),
        await killed.isOver,
        await unbegun,
      ]
      const standing = await Promise.all(beats.map(({ beat }) => stands(beat)))
      await kept.sandbox.kill()
      return { name, ended, standing, hasNever: existsSync(join(kept.workspace, 'never')) }
    })
    const told = await Promise.all(ends).finally(() => daemon.signal('SIGCONT'))
    expect(told).toEqual(
      subjects.map(({ name }) => ({
        name,
        ended: ['cancel', 'cancel', 'timeout', undefined, true, 'BACKEND_UNAVAILABLE'],
        standing: [true, true, true, true],
        hasNever: false,
      })),
    )
    await until(isClear)
    for (const { create } of all) {
      const { sandbox } = await create()
      expect((await sandbox.commands.run('echo after')).stdout).toBe('after\n')
      await sandbox.kill()
    }
    await until(isClear)
  })

  it('are lost and do not run on, on every runtime, when it is killed, and nothing of them is left when it is back', async () => {
    const subjects = await Promise.all(
      all.map(async ({ create }) => {
        const subject = await create()
        const lost = begin(subject, 'lost')
        await until(() => existsSync(lost.beat))
        return { ...subject, lost }
      }),
    )
    await daemon.kill('SIGKILL')
    for (const { lost } of subjects) {
      expect((await lost.result)?.ended.by, 'never a guess').toBe('lost')
      expect(await stands(lost.beat)).toBe(true)
    }
    await daemon.start()
    await until(isClear)
    for (const { sandbox } of subjects) await sandbox.kill()
    for (const { stateDir } of all) expect(readdirSync(join(stateDir, 'docker/scratch'))).toEqual([])
  })
})

interface Beginning {
  readonly beat: string
  /** Undefined where it was refused in the middle, as with its sandbox. */
  readonly result: Promise<ExecResult | undefined>
  readonly isOver: Promise<true>
}

/** A guest that shows that it runs. */
function begin({ sandbox, workspace }: Subject, name: string, options: RunOptions = {}): Beginning {
  const running = sandbox.commands.run(`while :; do echo >>beat-${name}; sleep 0.05; done`, options)
  const result = running.catch(() => undefined)
  return { beat: join(workspace, `beat-${name}`), result, isOver: result.then(() => true) }
}

/** However long it has no turn. */
async function untilTicking(beat: string): Promise<void> {
  const { size } = statSync(beat)
  await until(() => statSync(beat).size > size)
}

/** For longer than a guest that runs has no turn. */
async function stands(beat: string): Promise<boolean> {
  const { size } = statSync(beat)
  await pause(3000)
  return statSync(beat).size === size
}
