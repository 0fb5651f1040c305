// What belongs to a sandbox is found below that sandbox alone: with the id of one's own, and that of a command, a shell or a snapshot of
// another one, nothing is told and nothing is done, whether the other is a stranger's or one's own, and whatever the token may see.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Operation } from '../fixtures/server-contract.ts'
import { codeOf, startServer, type ServerGround } from './server-ground.ts'
import { makeObjects, sampleOf, type Objects, type Sample } from './server-objects.ts'
import { attachPath } from './server-scopes.ts'

let ground: ServerGround
let own: Objects
let others: Readonly<Record<'another project' | 'the same project', Objects>>
let tokens: Readonly<Record<'of the project' | 'of all projects', string>>

beforeAll(async () => {
  ground = await startServer()
  own = await makeObjects(ground, 'mine')
  others = {
    'another project': await makeObjects(ground, 'theirs'),
    'the same project': await makeObjects(ground, 'mine'),
  }
  tokens = { 'of the project': await ground.makeToken('exec', 'mine'), 'of all projects': ground.token }
})
afterAll(async () => {
  await ground.stop()
})

/** The own sandbox, with the parts of another. */
const mixed = (other: Objects): Objects => ({ ...other, sandboxId: own.sandboxId })

const isPart = ({ path }: Operation): boolean => /\{sandbox_id\}.*\{(?:exec_id|shell_id)\}/.test(path)

function samples(objects: Objects): readonly Sample[] {
  const { sandboxId, terminalId } = objects
  const attach = attachPath.replace('{sandbox_id}', sandboxId).replace('{shell_id}', terminalId)
  const all = ground.contract.operations.filter(isPart).map((operation) => sampleOf(operation, objects) as Sample)
  // What ends something comes last, so that nothing is missed for that reason.
  const isEnd = ({ method }: Sample): boolean => method === 'DELETE'
  return [...all.filter((each) => !isEnd(each)), { method: 'GET', path: attach }, ...all.filter(isEnd).toReversed()]
}

async function outcomes(all: readonly Sample[], token: string): Promise<readonly string[]> {
  const told: string[] = []
  for (const { method, path, ...asked } of all) {
    const answer = await ground.call(method, path, { ...asked, token })
    told.push(`${method} ${path}: ${answer.status}${answer.status < 400 ? '' : ` ${String(codeOf(answer))}`}`)
  }
  return told
}

const notFound = ': 404 NOT_FOUND'
const whose = ['another project', 'the same project'] as const
const which = ['of the project', 'of all projects'] as const
const cases = whose.flatMap((other) => which.map((token) => [other, token] as const))

describe('below a sandbox', () => {
  it.each(cases)('what belongs to another one of %s is not found, with a token %s', async (other, token) => {
    const all = samples(mixed(others[other]))
    expect(all.length).toBeGreaterThan(15)
    expect((await outcomes(all, tokens[token])).filter((line) => !line.endsWith(notFound))).toEqual([])
  })

  it.each(cases)('no named action reaches a shell of another one of %s, with a token %s', async (other, token) => {
    const { shellId } = others[other]
    for (const [action, input] of [
      ['exec_persistent_shell', { shellId, command: 'true' }],
      ['wait_persistent_shell', { shellId, waitMs: 0 }],
      ['inspect_persistent_shell', { shellId }],
      ['close_persistent_shell', { shellId }],
    ] as const) {
      const path = `/sandboxes/${own.sandboxId}/execute`
      const answer = await ground.call('POST', path, { token: tokens[token], body: { action, input } })
      expect([action, answer.status, codeOf(answer)]).toEqual([action, 404, 'NOT_FOUND'])
    }
  })

  it('a command of a shell is not found by its number in another shell, whose own it is not', async () => {
    const shells = `/sandboxes/${own.sandboxId}/shells`
    const other = String((await ground.call('POST', shells, { body: {} })).at('id'))
    const sample = (shellId: string, method: string, end = ''): Sample => ({
      method,
      path: `${shells}/${shellId}/commands/1${end}`,
    })
    const all = (shellId: string): readonly Sample[] => [
      sample(shellId, 'GET'),
      sample(shellId, 'GET', '/events'),
      sample(shellId, 'DELETE'),
    ]
    expect((await outcomes(all(other), ground.token)).filter((line) => !line.endsWith(notFound))).toEqual([])
    expect((await outcomes(all(own.shellId), ground.token)).filter((line) => !line.endsWith(': 200'))).toEqual([])
  })

  it('what was asked for so is as it was', async () => {
    for (const { sandboxId, shellId, commandId } of Object.values(others)) {
      const shell = await ground.call('GET', `/sandboxes/${sandboxId}/shells/${shellId}`)
      expect([shell.at('status'), shell.at('commands')]).toEqual(['idle', 1])
      const command = await ground.call('GET', `/sandboxes/${sandboxId}/commands/${commandId}`)
      expect(command.at('result.ended.by')).toBe('exit')
    }
  })

  it.each(which)('what is its own is found, so the refusals above can fail: with a token %s', async (token) => {
    const objects = token === 'of the project' ? others['the same project'] : others['another project']
    expect((await outcomes(samples(objects), tokens[token])).filter((line) => line.endsWith(notFound))).toEqual([])
  })
})

describe('where an id is named in the body or the query', () => {
  const theirs = (): Objects => others['another project']

  it('a sandbox does not begin with a snapshot of another project', async () => {
    for (const token of Object.values(tokens)) {
      const begin = (snapshot: string) =>
        ground.call('POST', '/sandboxes', { token, body: { project: 'mine', snapshot } })
      const answer = await begin(theirs().snapshotId)
      expect([answer.status, codeOf(answer)]).toEqual([404, 'NOT_FOUND'])
      const made = await begin(own.snapshotId)
      expect(made.status).toBe(201)
      await ground.call('DELETE', `/sandboxes/${String(made.at('id'))}`)
    }
  })

  it('a run does not revise one of another project', async () => {
    const answer = await ground.call('POST', '/runs', {
      token: tokens['of the project'],
      body: { revises: theirs().runId, command: ['true'] },
    })
    expect([answer.status, codeOf(answer)]).toEqual([404, 'NOT_FOUND'])
  })

  it('a list by an id of another project is empty', async () => {
    const sandboxId = String((await ground.call('GET', `/snapshots/${theirs().snapshotId}`)).at('sandboxId'))
    const taskId = String((await ground.call('GET', `/runs/${theirs().runId}`)).at('record.task_id'))
    for (const path of [`/snapshots?sandbox_id=${sandboxId}`, `/runs?task_id=${taskId}`]) {
      const listed = async (token: string): Promise<unknown> => (await ground.call('GET', path, { token })).at('items')
      expect(await listed(tokens['of the project'])).toEqual([])
      expect(await listed(tokens['of all projects'])).toHaveLength(1)
    }
  })
})
