// What a server that is told to stop does about work that is none of its own: commands of shells, actions, and what is made or brought in.
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { codeOf, startServer, type Answered, type ServerGround } from './server-ground.ts'

let ground: ServerGround
let sandbox: string
let workspace: string

const begin = async (grace: string): Promise<void> => {
  ground = await startServer({ flags: ['--grace', grace] })
  sandbox = `/sandboxes/${String((await ground.call('POST', '/sandboxes')).at('id'))}`
  workspace = join(ground.state, sandbox, 'workspace')
}
afterEach(async () => {
  await ground.stop()
})

const command = 'touch begun; while [ ! -e go ]; do sleep 0.05; done; echo finished > over; echo finished'
const openShell = async (): Promise<string> =>
  String((await ground.call('POST', `${sandbox}/shells`, { body: {} })).headers['location'])
const following = { accept: 'text/event-stream' }

interface Way {
  readonly name: string
  /** Settles with the answer. */
  readonly ask: (command: string) => Promise<Answered>
}

const ways: readonly Way[] = [
  {
    name: 'a command of a shell that is waited for',
    ask: async (text) => ground.call('POST', `${await openShell()}/commands`, { body: { command: text } }),
  },
  {
    name: 'a command of a shell that is followed',
    ask: async (text) =>
      ground.call('POST', `${await openShell()}/commands`, { body: { command: text }, headers: following }),
  },
  {
    name: 'a command of a shell in the background',
    ask: async (text) =>
      ground.call('POST', `${await openShell()}/commands`, { body: { command: text, background: true } }),
  },
  {
    name: 'an action',
    ask: (text) =>
      ground.call('POST', `${sandbox}/execute`, { body: { action: 'run_shell', input: { command: text } } }),
  },
]

const isIn = (name: string): boolean => existsSync(join(workspace, name))

describe('within its grace', () => {
  beforeEach(() => begin('100s'))

  it.each(ways)('a server that stops lets it end: $name', async ({ ask }) => {
    const asked = ask(command)
    await expect.poll(() => isIn('begun')).toBe(true)
    ground.server.child.kill('SIGTERM')
    await expect.poll(async () => codeOf(await ground.call('POST', '/sandboxes'))).toBe('DRAINING')
    expect(isIn('over')).toBe(false)
    writeFileSync(join(workspace, 'go'), '')
    const answer = await asked
    if (answer.status !== 202) expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('finished')])
    expect((await ground.server.finished).code).toBe(0)
    expect(isIn('over')).toBe(true)
  })
})

describe('behind its grace', () => {
  beforeEach(() => begin('1s'))

  it.each(ways.slice(0, 2))('it is told as cancelled to whoever asked for it: $name', async ({ ask }) => {
    const asked = ask(command)
    await expect.poll(() => isIn('begun')).toBe(true)
    ground.server.child.kill('SIGTERM')
    expect((await asked).text).toContain('"ended":{"by":"cancel"')
    expect((await ground.server.finished).code).toBe(0)
  })

  it('a shell and a terminal in which nothing runs are not waited for', async () => {
    await ground.stop()
    // Longer than this test may take.
    await begin('1000s')
    await openShell()
    const asked = await ground.call('POST', `${sandbox}/shells`, { body: { pty: true } })
    expect(asked.status).toBe(201)
    ground.server.child.kill('SIGTERM')
    expect((await ground.server.finished).code).toBe(0)
  })
})
