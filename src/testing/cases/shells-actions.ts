import assert from 'node:assert/strict'
import type { Sandbox } from '../../contract/sandbox.ts'
import type { ConformanceCase } from '../case.ts'
import { hidesTheHost, refused } from '../expect.ts'

type Answer = Readonly<Record<string, unknown>>

async function openIn(sandbox: Sandbox, cwd?: string) {
  const opened = (await sandbox.execute('open_persistent_shell', cwd === undefined ? {} : { cwd })) as Answer
  const shellId = opened['shellId']
  const ask = async (name: string, input: Answer = {}): Promise<Answer> => {
    const answer = (await sandbox.execute(`${name}_persistent_shell`, { shellId, ...input })) as Answer
    hidesTheHost(answer)
    return answer
  }
  return { shellId, ask }
}

export const shellActionCases: readonly ConformanceCase[] = [
  {
    title: 'open_, exec_ and close_persistent_shell carry a shell through its life by its id',
    async run(subject) {
      const scene = await subject.scene('plain')
      const { guest } = await subject.room(scene)
      const { shellId, ask } = await openIn(scene.sandbox, guest)
      await ask('exec', { command: 'x=5; mkdir -p below; cd below' })
      const answer = await ask('exec', { command: 'echo $x; pwd; echo err >&2; (exit 3)' })
      assert.deepEqual(
        [answer['done'], answer['number'], answer['exitCode'], answer['stdout'], answer['stderr'], answer['state']],
        [true, 2, 3, `5\n${guest}/below\n`, 'err\n', 'kept'],
      )
      assert.deepEqual(await ask('close'), { shellId, closed: true })
      await refused('NOT_FOUND', ask('exec', { command: 'echo never' }))
      await refused('NOT_FOUND', ask('close'))
    },
  },
  {
    title:
      'exec_persistent_shell answers after waitMs, inspect_ reports busy with the current command, and wait_ long-polls for its end',
    async run(subject) {
      const scene = await subject.scene('plain')
      const { guest } = await subject.room(scene)
      const { shellId, ask } = await openIn(scene.sandbox, guest)
      const command = 'echo begun; while [ ! -e go ]; do sleep 0.02; done; echo ended'
      let early = await ask('exec', { command, waitMs: 300 })
      assert.deepEqual([early['done'], early['number']], [false, 1])
      // A busy machine may not have begun it by then.
      for (let looks = 0; looks < 60 && early['stdout'] === ''; looks += 1) early = await ask('wait', { waitMs: 300 })
      assert.deepEqual([early['done'], early['stdout']], [false, 'begun\n'])
      const { shells } = (await ask('inspect')) as { shells: readonly Answer[] }
      assert.deepEqual(
        shells.map((shell) => [shell['shellId'], shell['status'], (shell['current'] as Answer)['command']]),
        [[shellId, 'busy', command]],
      )
      assert.equal((await ask('wait', { waitMs: 0 }))['done'], false)
      const ended = ask('wait')
      await scene.sandbox.files.write(`${guest}/go`, '')
      assert.deepEqual(
        [(await ended)['done'], (await ended)['exitCode'], (await ended)['stdout']],
        [true, 0, 'begun\nended\n'],
      )
      const { shells: all } = (await scene.sandbox.execute('inspect_persistent_shell', {})) as {
        shells: readonly Answer[]
      }
      assert.ok(all.some((shell) => shell['shellId'] === shellId && shell['status'] === 'idle'))
      await ask('close')
    },
  },
  {
    title: 'the actions of shells refuse what is not asked rightly, and nothing runs',
    async run(subject) {
      const { sandbox } = await subject.scene('plain')
      await refused('OUTSIDE_MOUNTS', sandbox.execute('open_persistent_shell', { cwd: '/etc' }))
      await refused('INVALID_INPUT', sandbox.execute('open_persistent_shell', { pty: true }))
      await refused('INVALID_ENV', sandbox.execute('open_persistent_shell', { env: { 'a=b': 'x' } }))
      const nobody = { shellId: 'sh_00000000000000000000000000000000' }
      await refused('NOT_FOUND', sandbox.execute('exec_persistent_shell', { ...nobody, command: 'echo never' }))
      await refused('NOT_FOUND', sandbox.execute('inspect_persistent_shell', nobody))
      await refused(
        'INVALID_INPUT',
        sandbox.execute('exec_persistent_shell', { shellId: '../x', command: 'echo never' }),
      )
      const { ask } = await openIn(sandbox)
      await refused('POLICY_ESCALATION', ask('exec', { command: 'echo never', timeoutMs: 10_000_000 }))
      await refused('INVALID_INPUT', ask('exec', { command: '' }))
      await refused('NOT_FOUND', ask('wait', { waitMs: 0 }))
      await ask('close')
    },
  },
]
