// `local` has no namespace to end, so what a command leaves behind must be found and ended one by one.
import { mkdtemp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openBackend } from '../../src/backends/local/backend.ts'
import type { Backend, Boundary, Process } from '../../src/contract/backend.ts'
import { newSandboxId } from '../../src/contract/ids.ts'
import type { HostPath } from '../../src/contract/mount.ts'
import { guest, handMadeSpec } from '../../src/testing/spec.ts'

let root: string
let backend: Backend
let boundary: Boundary
const id = newSandboxId()

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "glovebox it's local-"))
  await mkdir(join(root, 'real'))
  await symlink('real', join(root, 'workspace'))
  backend = await openBackend({ stateDir: join(root, 'state') as HostPath })
  boundary = await backend.create(id, backend.compile(handMadeSpec(root)))
})

afterAll(async () => {
  await backend.destroy(id)
  await rm(root, { recursive: true, force: true })
})

const start = (argv: readonly [string, ...string[]], env: Record<string, string> = {}): Promise<Process> =>
  boundary.spawn({ argv, cwd: guest('/workspace'), env, stdin: 'none' })

const shell = (text: string, env?: Record<string, string>): Promise<Process> => start(['/bin/sh', '-c', text], env)

async function textOf(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

async function run(child: Process) {
  const [stdout, stderr, exit] = await Promise.all([textOf(child.stdout), textOf(child.stderr), child.exit])
  return { stdout, stderr, exit }
}

async function isAlive(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '')
  return stat !== '' && !/\) [ZX] /.test(stat)
}

async function pidFrom(name: string): Promise<number> {
  for (let tries = 0; tries < 1000; tries += 1) {
    const text = await readFile(join(root, 'real', name), 'utf8').catch(() => '')
    if (text.endsWith('\n')) return Number(text)
    await sleep(20)
  }
  throw new Error(`no pid in ${name}`)
}

describe('what a command leaves behind', () => {
  it('a background process of its own group is gone when exit settles', async () => {
    const { exit } = await run(await shell('sleep 60 & echo $! > bg; exit 3'))
    expect(exit).toEqual({ code: 3 })
    expect(await isAlive(await pidFrom('bg'))).toBe(false)
  })

  it('a daemon that forked twice into a session of its own is gone when exit settles', async () => {
    const { exit } = await run(
      await shell(
        `(setsid sh -c 'echo $$ > daemon; exec sleep 60' >/dev/null 2>&1 &) ; while ! [ -s daemon ]; do sleep 0.01; done`,
      ),
    )
    expect(exit).toEqual({ code: 0 })
    expect(await isAlive(await pidFrom('daemon'))).toBe(false)
  })

  it('kill ends the whole tree, a daemon and a child without environment included, and may be called twice', async () => {
    const child = await shell(
      `(setsid sh -c 'echo $$ > daemon2; exec sleep 60' &) ; env -i setsid -w sh -c 'echo $$ > bare; exec sleep 60' & wait; sleep 60`,
    )
    const pids = [await pidFrom('daemon2'), await pidFrom('bare')]
    child.kill()
    child.kill()
    expect((await run(child)).exit).toEqual({ signal: 'SIGKILL' })
    expect(await Promise.all(pids.map(isAlive))).toEqual([false, false])
    child.kill()
  })

  it('output ends although a process that hid itself still holds the pipe', async () => {
    const hide = `env -i setsid sh -c 'echo $$ > hidden; sleep 1; exec sleep 60' &`
    const child = await shell(`${hide} while ! [ -s hidden ]; do sleep 0.01; done; echo said`)
    const hidden = await pidFrom('hidden')
    const { stdout, exit } = await run(child)
    expect(stdout).toBe('said\n')
    expect(exit).toEqual({ code: 0 })
    // Without environment, group, session and parent in common nothing leads to it: `local` is no boundary.
    expect(await isAlive(hidden)).toBe(true)
    process.kill(-hidden, 'SIGKILL')
  })

  it('destroy ends what still runs, and is idempotent', async () => {
    const other = newSandboxId()
    const place = join(root, 'other')
    await mkdir(join(place, 'workspace'), { recursive: true })
    const made = await backend.create(other, backend.compile(handMadeSpec(place)))
    const child = await made.spawn({ argv: ['sleep', '60'], cwd: guest('/workspace'), env: {}, stdin: 'none' })
    await backend.destroy(other)
    await backend.destroy(other)
    expect(await child.exit).toEqual({ signal: 'SIGKILL' })
    expect(await backend.discover(other)).toBeUndefined()
    await expect(
      made.spawn({ argv: ['true'], cwd: guest('/workspace'), env: {}, stdin: 'none' }),
    ).rejects.toMatchObject({
      code: 'SANDBOX_GONE',
    })
  })
})

describe('paths on the bare host', () => {
  it('virtual paths work in argv, in shell text and in the environment, behind a host path that needs quoting', async () => {
    await writeFile(join(root, 'real', 'a.txt'), 'content\n')
    expect((await run(await start(['cat', '/workspace/a.txt']))).stdout).toBe('content\n')
    expect(
      (
        await run(
          await shell('cat /workspace/a.txt "/workspace/a.txt" \'/workspace/a.txt\' "$F"', { F: '/workspace/a.txt' }),
        )
      ).stdout,
    ).toBe('content\n'.repeat(4))
  })

  it('no host path is seen in output, neither as given nor with its links resolved', async () => {
    const { stdout, stderr } = await run(
      await shell(
        'pwd; pwd -P; echo $HOME; echo "$PWD" | cut -b 1-20; readlink -f .; ls /workspace/none; cat /workspace/none',
      ),
    )
    const lines = stdout.split('\n')
    expect([lines[0], lines[1], lines[2], lines[4]]).toEqual(['/workspace', '/workspace', '/home/agent', '/workspace'])
    expect(stderr).toContain('/workspace/none')
    expect(stderr).not.toContain(root)
  })

  it('a host path that is written in two halves is masked', async () => {
    const { stdout } = await run(
      await shell(
        `p=$(pwd -P); h=$(printf %s "$p" | cut -b 1-12); printf %s "$h"; sleep 0.2; printf '%s/x\\n' "\${p#"$h"}"`,
      ),
    )
    expect(stdout).toBe('/workspace/x\n')
  })

  it('a command that is not there ends with 127, one that may not be run with 126, a missing cwd is NOT_FOUND', async () => {
    const missing = await run(await start(['no-such-program']))
    expect(missing.exit).toEqual({ code: 127 })
    expect(missing.stderr).toBe('glovebox: no-such-program: command not found\n')
    expect((await run(await start(['/workspace/a.txt']))).exit).toEqual({ code: 126 })
    await expect(
      boundary.spawn({ argv: ['true'], cwd: guest('/workspace/gone'), env: {}, stdin: 'none' }),
    ).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: 'Cannot run the command: the working directory /workspace/gone does not exist',
    })
  })

  it('bytes that are no text survive, and a slow reader loses nothing', async () => {
    const child = await shell(`head -c 300000 /dev/zero; printf '\\377\\200'`)
    const chunks: Uint8Array[] = []
    for await (const chunk of child.stdout as AsyncIterable<Uint8Array>) {
      chunks.push(chunk)
      await sleep(chunks.length === 3 ? 800 : 100)
    }
    const all = Buffer.concat(chunks)
    expect(all.length).toBe(300_002)
    expect([...all.subarray(-2)]).toEqual([0xff, 0x80])
  })
})
