// What an exec may write in the place of an image, on a server that has them: the form is looked at before docker hears of it.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isRequired } from '../conformance/required.ts'
import { dockerHasImage } from '../faults/exec-targets.ts'
import { shell, startExecServer, type ExecServer } from '../fixtures/exec-server.ts'

const image = 'glovebox/sandbox:latest'
const digits = 'a'.repeat(64)

describe.skipIf(!dockerHasImage(image) && !isRequired('docker'))('the image of an exec', () => {
  let server: ExecServer
  beforeAll(async () => {
    server = await startExecServer({ flags: ['--backend', 'docker'] })
  })
  afterAll(async () => {
    await server.stop()
    await server.remove()
  })

  it.each([
    '--privileged',
    '-v/:/host',
    '-',
    'a,b',
    'a:b:rw,z',
    '/:/host:rw,z',
    'a b',
    ' a',
    'a ',
    'a\nb',
    'a\n',
    'a\tb',
    '$(id)',
    '`id`',
    '${HOME}',
    'a;id',
    'a|id',
    'a&&id',
    "a'b",
    'a"b',
    'a\\b',
    'a=b',
    'type=bind',
    '../a',
    'a/../b',
    'a//b',
    '/a',
    'a/',
    'A/b',
    'a:',
    ':a',
    'a:b:c',
    `a:${'t'.repeat(129)}`,
    'a@',
    'a@b',
    '@sha256',
    'a@sha256',
    'a@sha256:',
    `@sha256:${digits}`,
    `a@sha256:${digits.slice(1)}`,
    `a@sha256:${digits}a`,
    `a@sha256:${digits.toUpperCase()}`,
    `a@sha256:${digits}:tag`,
    `a@sha512:${digits}`,
    `sha256:${digits}a`,
    'http://a/b',
    'docker.io:99999999/a',
    'ä',
    'a\u202eb',
    'a\0b',
    'a'.repeat(513),
    '',
  ])('%j is no name of one', async (written) => {
    const answer = await server.ask('POST', '/sandbox/execs', {
      body: { ...shell('true'), project_id: 'refused', image: written },
    })
    const { error } = answer.json as { error: { code: string; facts: unknown } }
    expect([answer.status, error.code, error.facts]).toEqual([400, 'INVALID_INPUT', { fields: ['image'] }])
  })

  it.each([
    ['image', 7],
    ['image', null],
    ['image', ['debian']],
    ['image', {}],
  ])('%s %j is none either', async (_, written) => {
    const answer = await server.ask('POST', '/sandbox/execs', { body: { ...shell('true'), image: written } })
    const { error } = answer.json as { error: { code: string; facts: unknown } }
    expect([answer.status, error.code, error.facts]).toEqual([400, 'INVALID_INPUT', { fields: ['image'] }])
  })

  it('one that is not on the host is refused, and none is fetched', async () => {
    for (const written of ['glovebox/none:latest', `glovebox/sandbox@sha256:${digits}`, `sha256:${digits}`]) {
      const answer = await server.ask('POST', '/sandbox/execs', {
        body: { ...shell('true'), project_id: 'refused', image: written },
      })
      const { error } = answer.json as { error: { code: string; message: string; facts: unknown } }
      expect([answer.status, error.code, error.facts]).toEqual([400, 'INVALID_INPUT', { fields: ['image'] }])
      expect(error.message).toContain('Cannot use the image: ')
    }
    // Nothing was made for any of them.
    expect(existsSync(join(server.workspace, 'projects', 'refused'))).toBe(false)
  })

  it('one that is there is used', async () => {
    expect(await server.exec({ ...shell('true'), image })).toMatchObject({ status: 'SUCCEEDED', image })
  })
})
