import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConformanceCase } from '../case.ts'
import { hidesTheHost, refused, succeeded } from '../expect.ts'

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
