// What a guest does to the modes of its own files must neither change how its exec ended, nor keep it from ending, nor stand in the way
// of the next one. Root is never asked for a mode; so the server is an ordinary user's.
import { chownSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { shell, type ExecServer } from '../fixtures/exec-server.ts'
import { isRequired } from '../conformance/required.ts'
import { containersAt, dockerHasImage, spoolsAt, spoolsIn } from './exec-targets.ts'
import { ordinaryGround, type OrdinaryGround } from './ordinary-server.ts'

let ground: OrdinaryGround
let server: ExecServer
beforeAll(() => {
  ground = ordinaryGround()
})
afterAll(() => ground.remove())
afterEach(() => server.remove())

const scratchesOf = ({ place }: ExecServer): readonly string[] => readdirSync(join(place, 'state', 'sandboxes'))

// As a cache of modules is left by its own program, and worse.
const closedDirectories = (at: string): string =>
  `mkdir -p ${at}/a/b ${at}/c/d ${at}/e/f; echo x >${at}/a/b/file; chmod 555 ${at}/a/b; chmod 000 ${at}/c/d ${at}/c; chmod 300 ${at}/e`

/** Root's, or of whoever owns `like`. */
function putLeftover(place: string, like = '/'): void {
  const { uid, gid } = statSync(like)
  mkdirSync(join(place, 'below'), { recursive: true })
  writeFileSync(join(place, 'below', 'file'), '')
  for (const each of ['', 'below', 'below/file']) chownSync(join(place, each), uid, gid)
}

describe('execs of a server that an ordinary user started', () => {
  it('directories in HOME and TMPDIR that nobody may write change no result, and are removed', async () => {
    server = await ground.start()
    const command = `${closedDirectories('$HOME')}; ${closedDirectories('$TMPDIR')}; chmod 500 $TMPDIR; chmod 000 $HOME; exit 7`
    expect(await server.exec(shell(command))).toMatchObject({ status: 'FAILED', exit_code: 7 })
    expect(await server.exec(shell('true'))).toMatchObject({ status: 'SUCCEEDED', exit_code: 0 })
    expect(scratchesOf(server)).toEqual([])
  })

  it('run where it has been given less of the processors than others', async () => {
    server = await ground.start({ under: ['nice', '-n', '10'] })
    expect(await server.exec(shell('true'))).toMatchObject({ status: 'SUCCEEDED' })
  })

  it('what a killed server left so is removed by the next, whose execs run', async () => {
    const first = await ground.start()
    const left = await first.begin(shell(`${closedDirectories('$HOME')}; echo closed; sleep 1000000`))
    await expect.poll(async () => (await first.fetch(`/sandbox/execs/${left.exec_id}/stdout`)).text()).toBe('closed\n')
    await first.kill()
    server = await ground.start({ place: first.place })
    expect(await server.exec(shell('true'))).toMatchObject({ status: 'SUCCEEDED', exit_code: 0 })
    await expect.poll(() => scratchesOf(server)).toEqual([])
  })

  it.each([
    ['closed to whoever lists them', 'mkdir -p d/e; echo x >d/e/file; chmod 000 d/e; chmod 300 d'],
    ['listed and not entered', 'mkdir -p d/e; echo x >d/e/file; chmod 600 d'],
    ['all below one that nobody may write', 'mkdir -p d/e; echo x >d/e/file; chmod 500 d .'],
    ['all below one that nobody may even list', 'mkdir -p d/e; echo x >d/e/file; chmod 000 .'],
  ])('artifacts are listed, and read, though their directories are %s', async (_, closing) => {
    server = await ground.start()
    const ended = await server.exec(shell(`cd /workspace/artifacts; ${closing}`))
    expect(ended).toMatchObject({ status: 'SUCCEEDED', exit_code: 0 })
    const listed = await server.ask('GET', `/sandbox/execs/${ended.exec_id}/artifacts`)
    expect(listed.json).toMatchObject({
      complete: true,
      entries: expect.arrayContaining([expect.objectContaining({ path: 'd/e/file', by: 'guest', size: 2 })]),
    })
    expect(await (await server.fetch(`/sandbox/execs/${ended.exec_id}/artifacts/d/e/file`)).text()).toBe('x\n')
  })

  it('an exec that still runs can be listed, whatever it has closed', async () => {
    server = await ground.start()
    const running = await server.begin(
      shell(
        'cd /workspace/artifacts; mkdir -p d/e; chmod 600 d; echo done >closed; while [ ! -e go ]; do sleep 0.05; done',
      ),
    )
    const list = async (): Promise<unknown> =>
      (await server.ask('GET', `/sandbox/execs/${running.exec_id}/artifacts`)).json
    await expect
      .poll(list)
      .toMatchObject({ entries: expect.arrayContaining([expect.objectContaining({ path: 'closed' })]) })
    writeFileSync(join(server.workspace, running.artifacts_dir, 'files', 'go'), '')
    expect(await server.until(running.exec_id, ({ ended_at }) => ended_at !== null)).toMatchObject({
      status: 'SUCCEEDED',
    })
  })

  it('what lies in a closed directory counts for the limit on artifacts, while the command runs and at its end', async () => {
    server = await ground.start()
    const limited = { policy_overrides: { max_artifacts_bytes_total: 1000 } }
    const fill = 'mkdir -m 300 /workspace/artifacts/d; head -c 5000 /dev/zero >/workspace/artifacts/d/file'
    expect(await server.exec(shell(`${fill}; while :; do sleep 0.05; done`, limited))).toMatchObject({
      status: 'FAILED',
      error_reason: 'artifacts_limit_exceeded',
      exit_code: null,
    })
    const ended = await server.exec(shell(`${fill}; chmod 000 /workspace/artifacts`, limited))
    expect(ended).toMatchObject({ status: 'FAILED', error_reason: 'artifacts_limit_exceeded', exit_code: 0 })
    expect(readdirSync(join(server.workspace, ended.artifacts_dir, 'files', 'd'))).toEqual([])
  })

  it('a project whose work was closed by one exec serves the next', async () => {
    server = await ground.start()
    expect(await server.exec(shell('chmod 000 /workspace/work'))).toMatchObject({ status: 'SUCCEEDED' })
    expect(await server.exec(shell('echo x >file && cat file'))).toMatchObject({ status: 'SUCCEEDED' })
  })

  it.skipIf(process.getuid?.() !== 0)('what cannot be removed at all keeps nothing else from being done', async () => {
    const first = await ground.start()
    expect(await first.stop()).toBe(0)
    const [theirs, ours] = ['a', 'b'].map((name) => `${name}@1.1.0-0.1`) as [string, string]
    putLeftover(join(first.place, 'state', 'sandboxes', theirs))
    putLeftover(join(first.place, 'state', 'sandboxes', ours), first.place)
    server = await ground.start({ place: first.place })
    expect(await server.exec(shell('true'))).toMatchObject({ status: 'SUCCEEDED' })
    expect(scratchesOf(server)).toEqual([theirs])
  })

  it('a sandbox of the pool is removed whatever was closed in it', async () => {
    server = await ground.start()
    const { id } = (await server.ask('POST', '/sandboxes', { body: {} })).json as { readonly id: string }
    const command = `${closedDirectories('$HOME')}; ${closedDirectories('/workspace')}; chmod 000 $HOME /workspace`
    expect(await server.ask('POST', `/sandboxes/${id}/commands`, { body: { command } })).toMatchObject({
      json: { ended: { by: 'exit', code: 0 } },
    })
    expect((await server.ask('DELETE', `/sandboxes/${id}`)).status).toBe(204)
    expect(scratchesOf(server).filter((name) => name.includes(id))).toEqual([])
  })
})

const socket = '/var/run/docker.sock'

// Whoever may use the daemon of root is a member of its group.
describe.skipIf(!dockerHasImage('glovebox/sandbox:latest') && !isRequired('docker'))(
  'execs in containers of a server that an ordinary user started',
  () => {
    const start = (place?: string): Promise<ExecServer> =>
      ground.start({
        flags: ['--backend', 'docker'],
        gid: statSync(socket).gid,
        ...(place === undefined ? {} : { place }),
      })

    it('leave nothing behind them, though their directories are closed', async () => {
      server = await start()
      const command = `${closedDirectories('$HOME')}; chmod 500 $TMPDIR $HOME; exit 7`
      expect(await server.exec(shell(command))).toMatchObject({ status: 'FAILED', exit_code: 7 })
      await expect.poll(() => spoolsIn(spoolsAt(server.place))).toEqual([])
      expect(containersAt(server.place)).toEqual([])
    })

    it.skipIf(process.getuid?.() !== 0)('are swept, but for what cannot be removed', async () => {
      const first = await start()
      expect(await first.exec(shell('true'))).toMatchObject({ status: 'SUCCEEDED' })
      expect(await first.stop()).toBe(0)
      const spools = spoolsAt(first.place)
      const before = spoolsIn(spools)
      putLeftover(join(spools, 'sbx_aaaaaaaa'))
      putLeftover(join(spools, 'sbx_bbbbbbbb'), first.place)
      server = await start(first.place)
      await expect.poll(() => spoolsIn(spools)).toEqual([...before, 'sbx_aaaaaaaa'])
    })
  },
)
