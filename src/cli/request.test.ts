import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { requestFrom } from './request.ts'

let directory: string
beforeEach(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-request-')))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

describe('requestFrom', () => {
  it('the current directory is /workspace, writable, unless mounts are given by flags or settings', async () => {
    const mountsOf = async (...mount: { guestPath: string; hostPath: string }[]) =>
      (await requestFrom(mount.length === 0 ? {} : { mount }, directory)).mounts
    const data = { guestPath: '/data', hostPath: join(directory, 'data') }
    expect(await mountsOf()).toEqual([{ guestPath: '/workspace', hostPath: directory, mode: 'rw' }])
    expect(await mountsOf(data)).toEqual([data])
    writeFileSync(join(directory, 'glovebox.yaml'), 'mounts: [/srv=./srv]\n', { mode: 0o644 })
    const srv = { guestPath: '/srv', hostPath: join(directory, 'srv') }
    expect(await mountsOf()).toEqual([srv])
    expect(await mountsOf(data)).toEqual([srv, data])
  })
})
