// A working directory that is gone when a command is to begin in it: the caller is told so, and nothing has begun.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { codeOf, startServer, type Answered, type ServerGround } from './server-ground.ts'

let ground: ServerGround
let sandbox: string
beforeAll(async () => {
  ground = await startServer()
  sandbox = `/sandboxes/${String((await ground.call('POST', '/sandboxes')).at('id'))}`
})
afterAll(async () => {
  await ground.stop()
})

const command = (body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Answered> =>
  ground.call('POST', `${sandbox}/commands`, { body, headers })

describe('a working directory that is none', () => {
  it.each([
    ['outside', '/etc', 403, 'OUTSIDE_MOUNTS'],
    ['climbing out', '../../etc', 403, 'OUTSIDE_MOUNTS'],
    ['a link to a directory of the host', '/workspace/out', 404, 'NOT_FOUND'],
    ['a file', '/workspace/file', 400, 'NOT_A_DIRECTORY'],
    ['with a NUL', '/workspace/a\0b', 400, 'INVALID_PATH'],
    ['missing', '/workspace/never', 404, 'NOT_FOUND'],
  ] as const)('nothing begins in one that is %s', async (_what, cwd, status, code) => {
    await command({ command: `ln -sfn ${ground.data} out; touch file`, cwd: '/workspace' })
    const answer = await command({ command: 'touch /workspace/begun-elsewhere', cwd })
    expect([answer.status, codeOf(answer)]).toEqual([status, code])
    const seen = await command({ command: 'ls', cwd: '/workspace' })
    expect(seen.at('stdout')).toContain('file\n')
    expect(seen.at('stdout')).not.toContain('begun-elsewhere')
  })

  it('a link is followed as the guest sees it, and leads no further than `cd` would', async () => {
    await command({ command: 'mkdir -p here; ln -sfn here near; ln -sfn /etc system', cwd: '/workspace' })
    expect((await command({ command: 'pwd -P', cwd: '/workspace/near' })).at('stdout')).toBe('/workspace/here\n')
    const system = await command({ command: 'pwd -P; touch made', cwd: '/workspace/system' })
    expect([system.at('stdout'), system.at('exitCode')]).toEqual(['/etc\n', 1])
  })
})

describe('a working directory that is gone', () => {
  it.each(['/workspace/here', '/workspace/deep/in/it', '/workspace/link', '/tmp/here'])(
    'nothing begins in %s, and the caller is told',
    async (cwd) => {
      const made = await command({
        command: 'mkdir -p here deep/in/it /tmp/here; ln -sfn here link',
        cwd: '/workspace',
      })
      expect([made.status, made.at('exitCode'), made.at('stderr')]).toEqual([200, 0, ''])
      const removed = await command({ command: 'rm -rf here deep /tmp/here', cwd: '/workspace' })
      expect([removed.status, removed.at('exitCode')]).toEqual([200, 0])
      const asked = { command: 'touch /workspace/begun', cwd }
      const answer = await command(asked)
      expect([answer.status, codeOf(answer)]).toEqual([404, 'NOT_FOUND'])
      // A stream may have begun before the directory was looked for.
      const streamed = await command(asked, { accept: 'text/event-stream' })
      expect(streamed.text).toContain('"code":"NOT_FOUND"')
      const begun = await command({ command: 'ls -A', cwd: '/workspace' })
      expect([begun.status, begun.at('exitCode'), begun.at('stdout')]).toEqual([
        200,
        0,
        expect.not.stringContaining('begun'),
      ])
    },
  )

  it('the same command runs once the directory is there again', async () => {
    await command({ command: 'mkdir -p again && rmdir again', cwd: '/workspace' })
    expect((await command({ command: 'pwd', cwd: '/workspace/again' })).status).toBe(404)
    await command({ command: 'mkdir again', cwd: '/workspace' })
    expect((await command({ command: 'pwd', cwd: '/workspace/again' })).at('stdout')).toBe('/workspace/again\n')
  })
})
