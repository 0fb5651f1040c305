import { describe, expect, it } from 'vitest'
import type { ShellId } from '../contract/ids.ts'
import { fakeServer, jsonReply, quick, type Reply } from './fake-server.test-support.ts'
import { openServer } from './server.ts'
import { remoteShells } from './shells.ts'

const id: ShellId = 'sh_00000000000000000000000000000000'

/** It takes the request and says nothing. */
const never = (): Reply => (_, signal) =>
  new Promise((_resolve, reject) => {
    signal?.addEventListener('abort', () => reject(new Error('aborted')))
  })

describe('a shell from afar', () => {
  it('whose server takes a command and says nothing is not waited for without an end', async () => {
    const fake = fakeServer(jsonReply({ id, kind: 'commands' }), never)
    const server = openServer({ url: 'http://127.0.0.1:1', token: 't', fetch: fake.fetch, retry: quick, answerMs: 20 })
    const shell = await remoteShells(server, '/sandboxes/sbx_1', (work) => work()).get(id)
    if (shell.kind !== 'commands') throw new Error('it is another kind of shell')
    await expect(shell.exec('true')).rejects.toMatchObject({
      code: 'SERVER_UNREACHABLE',
      hint: expect.stringContaining('Nobody can know'),
    })
    expect(fake.sent).toHaveLength(2)
  })
})
