import assert from 'node:assert/strict'
import { access, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { capabilityNames } from '../../contract/capability.ts'
import type { ConformanceCase } from '../case.ts'
import { heartbeat, hidesTheHost, isStill, refused, succeeded, waitForBeat } from '../expect.ts'

export const describeCases: readonly ConformanceCase[] = [
  {
    title: 'describe names the sandbox, its backend and its mounts in the words of the guest',
    async run({ backend, scene }) {
      const { sandbox } = await scene('nested')
      const told = sandbox.describe()
      assert.deepEqual([told.id, told.backend], [sandbox.id, backend.name])
      const modes = new Map(told.mounts.map(({ guestPath, mode }) => [guestPath, mode]))
      assert.deepEqual([modes.get('/workspace'), modes.get('/workspace/inner')], ['rw', 'rw'])
    },
  },
  {
    title: 'describe tells which mounts are read-only',
    requires: ['mount.readonly'],
    async run({ scene }) {
      const told = (await scene('readonly')).sandbox.describe()
      const readOnly = told.mounts.filter(({ mode }) => mode === 'ro').map(({ guestPath }) => guestPath)
      assert.deepEqual(readOnly.toSorted(), ['/reference', '/workspace/frozen'])
    },
  },
  {
    title: 'describe holds no host path',
    async run({ scene }) {
      for (const name of ['plain', 'nested'] as const) hidesTheHost((await scene(name)).sandbox.describe())
    },
  },
  {
    title: 'describe claims only what the backend is capable of',
    async run({ backend, scene }) {
      const { sandbox } = await scene('plain')
      for (const { what, by } of sandbox.describe().enforced) {
        assert.ok(backend.capabilities[what] !== undefined, `${what} is claimed, but is not a capability`)
        assert.ok(by.length > 0)
      }
    },
  },
  {
    title: 'describe leaves no limit out: each is enforced, or not enforced with a reason',
    async run({ scene }) {
      const told = (await scene('plain')).sandbox.describe()
      const enforced = told.enforced.map(({ what }) => what)
      const not = told.notEnforced.map(({ what }) => what)
      for (const limit of ['memory', 'cpu', 'pids', 'fileSize', 'timeout', 'output.bounded'] as const) {
        assert.equal([...enforced, ...not].filter((what) => what === limit).length, 1, limit)
      }
      for (const { what, why } of told.notEnforced) assert.ok(why.length > 10, `no reason is given for ${what}`)
      for (const what of [...enforced, ...not]) assert.ok(capabilityNames.includes(what))
    },
  },
  {
    title: 'describe says sandboxed only where the filesystem is isolated',
    async run({ backend, scene }) {
      const told = (await scene('plain')).sandbox.describe()
      assert.equal(told.sandboxed, backend.capabilities['filesystem.isolated'] !== undefined)
    },
  },
  {
    title: 'describe tells every effective value of the policy with the layer that it came from',
    async run({ create }) {
      const sandbox = await create({ settings: { maxStderrBytes: 2000 }, request: { timeoutMs: 5000 } })
      const told = new Map(sandbox.describe().policy.map((field) => [field.field, field]))
      assert.deepEqual([told.get('timeoutMs')?.value, told.get('timeoutMs')?.from.layer], [5000, 'request'])
      assert.deepEqual([told.get('maxStderrBytes')?.value, told.get('maxStderrBytes')?.from.layer], [2000, 'settings'])
      assert.equal(told.get('pids')?.from.layer, 'default')
    },
  },
  {
    title: 'describe tells the network mode that the policy sets',
    async run({ scene }) {
      const told = (await scene('plain')).sandbox.describe()
      const network = told.policy.find(({ field }) => field === 'network')?.value
      assert.deepEqual(network, { mode: 'none', allow: [] })
      assert.equal(told.networkMode, 'none')
    },
  },
]

export const killCases: readonly ConformanceCase[] = [
  {
    title: 'kill ends everything inside and is idempotent; afterwards every call is refused with SANDBOX_GONE',
    async run({ create, directory }) {
      const hostPath = await directory()
      const sandbox = await create({ mounts: [{ guestPath: '/workspace', hostPath }] })
      const running = sandbox.commands.run(heartbeat('beat')).catch(() => undefined)
      await waitForBeat(join(hostPath, 'beat'))
      await sandbox.kill()
      await sandbox.kill()
      await running
      await isStill(join(hostPath, 'beat'))
      await refused('SANDBOX_GONE', sandbox.commands.run(['true']))
      await refused('SANDBOX_GONE', sandbox.files.read('/workspace/beat'))
      await refused('SANDBOX_GONE', sandbox.files.write('/workspace/new', 'x'))
      await refused('SANDBOX_GONE', sandbox.files.list())
      await refused('SANDBOX_GONE', sandbox.execute('stat', { path: '/workspace' }))
      await assert.rejects(access(join(hostPath, 'new')))
    },
  },
  {
    title: 'a command that runs while its sandbox is killed ends, and never as a success',
    async run({ create }) {
      const sandbox = await create()
      let begun = (): void => {}
      const beginning = new Promise<void>((resolve) => (begun = resolve))
      const running = sandbox.commands.run('echo begun; sleep 20', { onStdout: () => begun() })
      await beginning
      await sandbox.kill()
      const outcome = await running.then(
        (result) => result.ended,
        (error: { code?: string }) => error.code,
      )
      assert.notDeepEqual(outcome, { by: 'exit', code: 0 })
      assert.notEqual(outcome, undefined)
    },
  },
  {
    title: 'two calls of kill at once both succeed',
    async run({ create }) {
      const sandbox = await create()
      await Promise.all([sandbox.kill(), sandbox.kill()])
      await refused('SANDBOX_GONE', sandbox.commands.run(['true']))
    },
  },
  {
    title: 'await using kills the sandbox at the end of its block',
    async run({ backend, create }) {
      const sandbox = await create()
      assert.ok((await backend.list()).some(({ id }) => id === sandbox.id))
      await sandbox[Symbol.asyncDispose]()
      assert.ok(!(await backend.list()).some(({ id }) => id === sandbox.id))
    },
  },
  {
    title: 'killing one sandbox leaves another over the same directory alone',
    async run({ create, directory }) {
      const mounts = [{ guestPath: '/workspace', hostPath: await directory() }]
      const one = await create({ mounts })
      const other = await create({ mounts })
      await one.kill()
      await other.files.write('/workspace/file', 'still here')
      assert.equal(succeeded(await other.commands.run('cat file')), 'still here')
    },
  },
]

export const concurrencyCases: readonly ConformanceCase[] = [
  {
    title: 'twenty commands at once each have their own output, code and environment',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const runs = Array.from({ length: 20 }, (_, index) =>
        sandbox.commands.run('echo "out $WHO"; echo "err $WHO" >&2; exit $WHO', { env: { WHO: `${index}` } }),
      )
      for (const [index, result] of (await Promise.all(runs)).entries()) {
        const seen = [result.exitCode, result.stdout, result.stderr]
        assert.deepEqual(seen, [index, `out ${index}\n`, `err ${index}\n`])
      }
    },
  },
  {
    title: 'two sandboxes at once keep different policies',
    async run({ create }) {
      const strict = await create({ request: { maxStdoutBytes: 10, timeoutMs: 400 } })
      const loose = await create({ request: { maxStdoutBytes: 10_000 } })
      const script = 'head -c 5000 /dev/zero; sleep 1'
      const [cut, whole] = await Promise.all([strict.commands.run(script), loose.commands.run(script)])
      assert.deepEqual([cut.ended.by, cut.stdoutBytes.length], ['timeout', 10])
      assert.deepEqual([whole.ended.by, whole.stdoutBytes.length], ['exit', 5000])
    },
  },
  {
    title: 'two sandboxes at once see their own files at the same guest path',
    async run({ create }) {
      const [one, other] = await Promise.all([create(), create()])
      await Promise.all([one.files.write('/workspace/who', 'one'), other.files.write('/workspace/who', 'other')])
      const seen = await Promise.all([one, other].map((sandbox) => sandbox.commands.run('cat /workspace/who')))
      assert.deepEqual(seen.map(succeeded), ['one', 'other'])
    },
  },
  {
    title: 'ten writes to one file at once leave one of the contents, whole',
    async run({ scene, room }) {
      const plain = await scene('plain')
      const { guest } = await room(plain)
      const contents = Array.from({ length: 10 }, (_, index) => `${index}`.repeat(50_000))
      await Promise.all(contents.map((content) => plain.sandbox.files.write(`${guest}/file`, content)))
      assert.ok(contents.includes(await plain.sandbox.files.read(`${guest}/file`)))
      assert.deepEqual(
        (await plain.sandbox.files.list(guest)).entries.map(({ name }) => name),
        ['file'],
      )
    },
  },
  {
    title: 'forty files written at once are all there',
    async run({ scene, room }) {
      const plain = await scene('plain')
      const { guest } = await room(plain)
      const names = Array.from({ length: 40 }, (_, index) => `f${`${index}`.padStart(2, '0')}`)
      await Promise.all(names.map((name) => plain.sandbox.files.write(`${guest}/deep/${name}`, name)))
      assert.deepEqual(
        (await plain.sandbox.files.list(`${guest}/deep`)).entries.map(({ name }) => name),
        names,
      )
    },
  },
]

export const secrecyCases: readonly ConformanceCase[] = [
  {
    title: 'a command that asks where it is learns guest paths only',
    async run({ scene, room }) {
      const plain = await scene('plain')
      const { guest } = await room(plain)
      const result = await plain.sandbox.commands.run('pwd; pwd -P; realpath .; echo "$PWD $HOME $TMPDIR"', {
        cwd: guest,
      })
      hidesTheHost(succeeded(result))
      assert.deepEqual(result.stdout.split('\n').slice(0, 3), [guest, guest, guest])
    },
  },
  {
    title: 'error output of a command names guest paths only',
    async run({ scene, room }) {
      const plain = await scene('plain')
      const { guest } = await room(plain)
      const result = await plain.sandbox.commands.run(`cat ${guest}/missing; cd ${guest}/nowhere; ${guest}/no-program`)
      hidesTheHost(result.stderr)
      assert.ok(result.stderr.includes(`${guest}/missing`), result.stderr)
    },
  },
  {
    title: 'output that is streamed holds no host path, however it is cut into chunks',
    async run({ scene, room }) {
      const plain = await scene('plain')
      const { guest } = await room(plain)
      let streamed = ''
      const script = 'd=$(pwd -P); while [ -n "$d" ]; do printf %s "${d%"${d#?}"}"; d=${d#?}; sleep 0.005; done; echo'
      const result = await plain.sandbox.commands.run(script, {
        cwd: guest,
        onStdout: (chunk) => void (streamed += Buffer.from(chunk).toString()),
      })
      hidesTheHost(streamed)
      assert.equal(streamed, `${guest}\n`)
      assert.equal(result.stdout, streamed)
    },
  },
  {
    title: 'a script that lies in the workspace finds its own path as a guest path',
    async run({ scene, room }) {
      const plain = await scene('plain')
      const { guest, host } = await room(plain)
      await writeFile(join(host, 'who.sh'), '#!/bin/sh\necho "$0"\n', { mode: 0o755 })
      assert.equal(succeeded(await plain.sandbox.commands.run([`${guest}/who.sh`])), `${guest}/who.sh\n`)
    },
  },
  {
    title: 'errors of file actions name guest paths only',
    async run({ scene, room }) {
      const plain = await scene('plain')
      const { guest } = await room(plain)
      const error = await refused('NOT_FOUND', plain.sandbox.files.read(`${guest}/missing`))
      assert.ok(error.message.includes(`${guest}/missing`), error.message)
    },
  },
  {
    title: 'a failed creation names the guest path and keeps the host path for the operator',
    async run({ create, directory }) {
      const mounts = [{ guestPath: '/workspace', hostPath: join(await directory(), 'missing') }]
      await refused(['NOT_FOUND', 'INVALID_INPUT'], create({ mounts }))
    },
  },
]
