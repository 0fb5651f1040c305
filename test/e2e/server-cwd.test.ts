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
