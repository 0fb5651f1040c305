// Attacks on the server's side of execs, each beside a control in which nothing defends and the harm is done. The server runs its execs
// on the backend that is attacked.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { release, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { recordNames, type ExecArtifacts, type ExecMeta, type ExecRecord } from '../../src/contract/exec-record.ts'
import { execTarget } from '../faults/exec-targets.ts'
import { makePlace, shell, startExecServer, type ExecServer } from '../fixtures/exec-server.ts'
import { changedFilesWith, filesWith, ofTheHost, processesWith } from '../fixtures/value-search.ts'

const attacked = execTarget(process.env['GLOVEBOX_ATTACK_BACKEND'] ?? 'bwrap')

let server: ExecServer
beforeAll(async () => {
  server = await startExecServer(attacked.options)
})
afterAll(async () => {
  await server.stop()
  await server.remove()
})

const placeOf = (exec: ExecRecord, ...names: readonly string[]): string =>
  join(server.workspace, exec.artifacts_dir, ...names)

/** A file of the host that a guest would like to reach. It knows where it is. */
function victim(name: string): string {
  const path = join(server.place, name)
  writeFileSync(path, 'of the host')
  chmodSync(path, 0o666)
  return path
}

/** What a server would do that kept its records among the guest's files. */
function writeNaively(exec: ExecRecord): void {
  for (const name of recordNames) {
    try {
      writeFileSync(placeOf(exec, 'files', name), 'a record')
    } catch {
      // Some of what the guest left cannot be written at all.
    }
  }
}

describe('records of an exec', () => {
  it('control: execs run on what is attacked', async () => {
    const exec = await server.exec(shell('uname -r'))
    expect(exec.backend).toBe(attacked.name.split('-')[0])
    const isOwnKernel = readFileSync(placeOf(exec, 'stdout.txt'), 'utf8').trim() !== release()
    expect(isOwnKernel).toBe(attacked.name === 'docker-runsc')
  })

  it.each([
    ['symlinks', 'ln -s VICTIM'],
    ['symlinks upward', 'ln -s ../NAME'],
    ['hard links', 'echo forged > /workspace/artifacts/.x; ln -f /workspace/artifacts/.x'],
    ['files', 'echo forged >'],
    ['directories', 'mkdir'],
    ['pipes', 'mkfifo'],
  ])('a guest cannot change, replace or redirect the records of its exec', async (kind, plant) => {
    const path = victim('victim')
    const script = [
      ...recordNames.map(
        (name) => `${plant.replace('VICTIM', path).replace('NAME', name)} /workspace/artifacts/${name}`,
      ),
      ...recordNames.flatMap((name) => [
        `echo forged > /workspace/artifacts/../${name}`,
        `echo forged > /workspace/${name}`,
        `ln -s ${path} /workspace/artifacts/../${name}`,
      ]),
      // While the server writes, too.
      '(while :; do for n in stdout.txt meta.json manifest.json; do rm -rf /workspace/artifacts/$n; ln -s /etc/passwd /workspace/artifacts/$n; done; done) 2>/dev/null &',
      'sleep 0.2; echo true output',
    ].join('\n')
    const exec = await server.exec(shell(script))
    expect([kind, exec.status]).toEqual([kind, 'SUCCEEDED'])
    expect(readFileSync(path, 'utf8')).toBe('of the host')
    for (const name of recordNames) {
      const stats = lstatSync(placeOf(exec, name))
      expect([name, stats.isFile(), stats.nlink, stats.uid]).toEqual([name, true, 1, process.geteuid?.()])
    }
    expect(readFileSync(placeOf(exec, 'stdout.txt'), 'utf8')).toBe('true output\n')
    const {
      layout: _,
      image_asked: _asked,
      boundary_id: _id,
      mounts: _mounts,
      ...meta
    } = JSON.parse(readFileSync(placeOf(exec, 'meta.json'), 'utf8')) as ExecMeta
    expect(meta).toEqual(exec)
    const shown = await server.ask('GET', `/sandbox/execs/${exec.exec_id}/artifacts/stdout.txt`)
    expect(shown.text).toBe('true output\n')
  })

  it('control: a server that kept its records among the guest’s files would write through the link', async () => {
    const path = victim('victim-of-control')
    const exec = await server.exec(
      shell(recordNames.map((name) => `ln -s ${path} /workspace/artifacts/${name}`).join('\n')),
    )
    writeNaively(exec)
    expect(readFileSync(path, 'utf8')).toBe('a record')
  })

  it('a link in the artifacts leads to no file of the host', async () => {
    const path = victim('secret')
    const exec = await server.exec(
      shell(
        `cd /workspace/artifacts; ln -s ${path} link; ln -s ${server.place} directory; ln -s ../meta.json up; mkfifo pipe`,
      ),
    )
    const base = `/sandbox/execs/${exec.exec_id}/artifacts`
    for (const name of ['link', 'directory/secret', 'directory', 'up', 'pipe', '%2e%2e/meta.json', '..%2fmeta.json']) {
      const answered = await server.ask('GET', `${base}/${name}`)
      expect([name, answered.status >= 400 && answered.status < 500]).toEqual([name, true])
      expect(answered.text).not.toContain('of the host')
      expect(answered.text).not.toContain(server.place)
    }
    const { entries } = (await server.ask('GET', base)).json as ExecArtifacts
    expect(entries.filter(({ kind }) => kind === 'symlink').map(({ path: each, sha256 }) => [each, sha256])).toEqual([
      ['directory', null],
      ['link', null],
      ['up', null],
    ])
    // Control: whoever opens it by its name reads the host's file.
    expect(readFileSync(placeOf(exec, 'files', 'link'), 'utf8')).toBe('of the host')
  })

  it('a hard link joins no two directories of an exec', async () => {
    const exec = await server.exec({
      ...shell(
        'echo x > /workspace/work/w; ln /workspace/work/w /workspace/artifacts/w; ln /workspace/inputs/i /workspace/artifacts/i; ln /workspace/inputs/i /workspace/work/i; ls -A /workspace/artifacts | grep -v glovebox',
      ),
      inputs: [{ path: 'i', content: 'x' }],
    })
    expect(readdirSync(placeOf(exec, 'files'))).toEqual([])
    expect(statSync(join(server.workspace, 'projects/demo/inputs/i')).nlink).toBe(1)
    // Control: they lie on one disk, where nothing but the mounts keeps them apart.
    linkSync(join(server.workspace, 'projects/demo/inputs/i'), placeOf(exec, 'files', 'i'))
    expect(statSync(join(server.workspace, 'projects/demo/inputs/i')).nlink).toBe(2)
  })

  it('a command of an exec cannot tell its own end and go on', async () => {
    const forged =
      'for fd in /proc/[0-9]*/fd/*; do [ -p "$fd" ] && echo "glovebox exit 0" >"$fd" && echo "$fd" >&3; done'
    const open = `sh -c 'exec 8>told; sh -c "echo glovebox exit 0 >/proc/\\$PPID/fd/8"; :'`
    const exec = await server.exec(
      shell(
        [
          'cd /workspace/artifacts',
          `(${forged}) 3>written 2>/dev/null`,
          // It would have been believed by now.
          'sleep 1; echo late >late',
          open,
          'exit 7',
        ].join('\n'),
      ),
    )
    expect(exec).toMatchObject({ status: 'FAILED', exit_code: 7 })
    const { entries } = (await server.ask('GET', `/sandbox/execs/${exec.exec_id}/artifacts`)).json as ExecArtifacts
    const sha256 = createHash('sha256').update('late\n').digest('hex')
    expect(entries.find(({ path }) => path === 'late')).toMatchObject({ sha256 })
    // Controls: there were pipes to write to, which were its own outputs; and a shell that does not hide is spoken for.
    expect(readFileSync(placeOf(exec, 'files', 'written'), 'utf8')).toMatch(/fd\/1$/m)
    expect(readFileSync(placeOf(exec, 'stdout.txt'), 'utf8')).toContain('glovebox exit 0')
    expect(readFileSync(placeOf(exec, 'files', 'told'), 'utf8')).toBe('glovebox exit 0\n')
  })

  it('an input reaches nothing outside of inputs/', async () => {
    const path = victim('overwritten')
    const inputs = join(server.workspace, 'projects/links/inputs')
    await server.exec({ ...shell('ln -s /etc /workspace/inputs/made; true'), project_id: 'links' })
    expect(readdirSync(inputs)).toEqual([])
    symlinkSync(path, join(inputs, 'leaf'))
    symlinkSync(server.place, join(inputs, 'directory'))
    for (const name of [
      'leaf',
      'directory/overwritten',
      'directory/new',
      '../../../../overwritten',
      path,
      `x/../../../../../overwritten`,
    ]) {
      const body = {
        ...shell('true'),
        project_id: 'links',
        inputs: [
          { path: 'first', content: 'x' },
          { path: name, content: 'harm' },
        ],
      }
      expect([name, (await server.ask('POST', '/sandbox/execs', { body })).status]).toEqual([name, 400])
    }
    expect(readFileSync(path, 'utf8')).toBe('of the host')
    expect(readdirSync(inputs).toSorted()).toEqual(['directory', 'leaf'])
    // Control: the plain call goes through the link.
    writeFileSync(join(inputs, 'leaf'), 'harm')
    expect(readFileSync(path, 'utf8')).toBe('harm')
  })

  it('a workspace that others can write is refused', async () => {
    const place = makePlace()
    mkdirSync(join(place, 'data', 'workspace'), { recursive: true })
    chmodSync(join(place, 'data', 'workspace'), 0o777)
    await expect(startExecServer({ ...attacked.options, place })).rejects.toThrow('somebody else')
    // Control: with the right mode the same server starts.
    chmodSync(join(place, 'data', 'workspace'), 0o700)
    const started = await startExecServer({ ...attacked.options, place })
    expect((await started.exec(shell('true'))).status).toBe('SUCCEEDED')
    await started.stop()
    await started.remove()
  })
})

describe('the environment of an exec', () => {
  /** Where a server and what it starts might put something down. */
  const places = [tmpdir(), '/tmp', '/run', '/dev/shm']
  const putDown = (text: string, since: Date): readonly string[] =>
    changedFilesWith(text, places, since).map((path) => path.slice(0, path.lastIndexOf('/')))

  it("a value of an exec's environment is found on no disk, in no log and in no command line", async () => {
    const canary = `canary-${Math.random().toString(36).slice(2)}${Date.now().toString(36)}`
    const spoken = `spoken-${canary}`
    const since = new Date(Date.now() - 1000)
    const exec = await server.begin(
      {
        project_id: 'secrets',
        exec: {
          kind: 'shell',
          command: `: ${spoken.slice(0, 6)}; printf %s "$TOKEN" | sha256sum >told; mv told hash; while [ ! -e go ]; do sleep 0.2; done`,
          env: { TOKEN: canary, PYTHONSTARTUP: `/${canary}.py` },
        },
        task_ref: { task_id: 'spoken-task' },
      },
      { 'idempotency-key': 'with-secret' },
    )
    // Control: the guest has it.
    const work = join(server.workspace, 'projects/secrets/work')
    await expect.poll(() => existsSync(join(work, 'hash'))).toBe(true)
    expect(readFileSync(join(work, 'hash'), 'utf8')).toContain(createHash('sha256').update(canary).digest('hex'))
    // Control: where guests are processes of the host's kernel, the search finds it in the guest's. gVisor's are not.
    expect(processesWith('environ', canary).length > 0).toBe(attacked.name !== 'docker-runsc')
    expect(ofTheHost(processesWith('environ', canary))).toEqual([])
    expect(processesWith('cmdline', canary)).toEqual([])
    expect(filesWith(server.place, canary)).toEqual([])
    expect(putDown(canary, since)).toEqual([])
    writeFileSync(join(work, 'go'), '')
    const ended = await server.until(exec.exec_id, ({ ended_at }) => ended_at !== null)
    expect(ended).toMatchObject({ status: 'SUCCEEDED', env_keys: ['PYTHONSTARTUP', 'TOKEN'] })
    // A queued one that never runs, one that is refused, and one whose request is malformed.
    await server.ask('POST', '/sandbox/execs', {
      body: { exec: { kind: 'shell', command: 'true', env: { T: canary } }, policy_overrides: { pids: 10 ** 6 } },
    })
    await server.ask('POST', '/sandbox/execs', {
      body: { exec: { kind: 'shell', command: 'true', env: { 'T=': canary } } },
    })
    await server.ask('POST', '/sandbox/execs', { body: `{"exec":{"env":{"T":"${canary}"` })
    expect(filesWith(server.place, canary)).toEqual([])
    expect(server.logs()).not.toContain(canary)
    expect(JSON.stringify((await server.ask('GET', '/sandbox/execs')).json)).not.toContain(canary)
    // Control: what is recorded is found by the same search, in the files and in the database.
    const recorded = filesWith(server.place, 'spoken-task').map((path) => path.split('/').at(-1) ?? '')
    expect(recorded).toContain('meta.json')
    expect(recorded.some((name) => name.startsWith('glovebox.db'))).toBe(true)
    await server.stop()
    expect(filesWith(server.place, canary)).toEqual([])
    expect(putDown(canary, since)).toEqual([])
    // Control: what an exec of this server had for its task is found by this search, too.
    expect(putDown('spoken-task', since)).toContain(placeOf(exec))
  })

  it('control: a value that lies anywhere a server might put it, or that a process of the host carries, is found', async () => {
    const since = new Date(Date.now() - 1000)
    const lying = `lying-${Math.random().toString(36).slice(2)}`
    // An ordinary user, as whom a server may run, writes nothing into /run.
    const writable = [...new Set(places)].filter((place) => place !== '/run' || process.getuid?.() === 0)
    const planting = writable.map((place) => mkdtempSync(join(place, 'glovebox-planted-')))
    for (const place of planting) writeFileSync(join(place, 'x'), lying)
    expect(putDown(lying, since).toSorted()).toEqual(planting.toSorted())
    for (const place of planting) rmSync(place, { recursive: true })
    const planted = `planted-${Math.random().toString(36).slice(2)}`
    const carriers = [
      spawn('/bin/sh', ['-c', `read line; : ${planted}`]),
      spawn('/bin/sh', ['-c', 'read line; :'], { env: { TOKEN: planted } }),
    ]
    const [inArguments, inEnvironment] = carriers.map(({ pid }) => String(pid))
    await expect.poll(() => processesWith('cmdline', planted)).toEqual([inArguments])
    await expect.poll(() => ofTheHost(processesWith('environ', planted))).toEqual([inEnvironment])
    for (const carrier of carriers) carrier.kill()
  })
})
