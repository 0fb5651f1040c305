import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { remoteFrom, serverAsked } from './remote.ts'

const place = mkdtempSync(join(tmpdir(), 'glovebox-remote-'))
writeFileSync(join(place, 'token'), 'gbx_file\n')
afterAll(() => rmSync(place, { recursive: true }))

const url = 'http://127.0.0.1:1'

describe('the server of the command line', () => {
  it('is the flag, else GLOVEBOX_SERVER, else none', () => {
    expect(serverAsked({ server: 'a' }, { GLOVEBOX_SERVER: 'b' })).toBe('a')
    expect(serverAsked({}, { GLOVEBOX_SERVER: 'b' })).toBe('b')
    expect(serverAsked({}, { GLOVEBOX_SERVER: '' })).toBeUndefined()
    expect(remoteFrom({}, place, { GLOVEBOX_TOKEN: 't' })).toBeUndefined()
  })

  it('has its token from the named file, else GLOVEBOX_TOKEN, else GLOVEBOX_TOKEN_FILE', () => {
    const both = { GLOVEBOX_TOKEN: 'gbx_env', GLOVEBOX_TOKEN_FILE: 'token' }
    expect(remoteFrom({ server: url, tokenFile: 'token' }, place, both)).toEqual({ url, token: 'gbx_file' })
    expect(remoteFrom({ server: url }, place, both)).toEqual({ url, token: 'gbx_env' })
    expect(remoteFrom({ server: url }, place, { GLOVEBOX_TOKEN_FILE: 'token' })).toEqual({ url, token: 'gbx_file' })
  })

  it('is not asked without a token', () => {
    expect(() => remoteFrom({ server: url }, place, {})).toThrow('there is no token')
    expect(() => remoteFrom({ server: url, tokenFile: 'gone' }, place, { GLOVEBOX_TOKEN: 't' })).toThrow(
      'cannot be read',
    )
  })
})
