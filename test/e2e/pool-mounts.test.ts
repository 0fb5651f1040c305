// Mounts that a caller asks for when a sandbox is made: what the operator offers, by name, and nothing else of the host.
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { codeOf, startServer, type Answered, type ServerGround } from './server-ground.ts'

let place: string
let ground: ServerGround

beforeAll(async () => {
  place = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-mounts-')))
  for (const name of ['data', 'shared', 'private']) {
    mkdirSync(join(place, name), { mode: 0o777 })
    writeFileSync(join(place, name, 'note'), `of ${name}\n`)
  }
  const offers = {
    data: { hostPath: join(place, 'data') },
    shared: { hostPath: join(place, 'shared'), mode: 'rw' },
    theirs: { hostPath: join(place, 'private'), projects: ['theirs'] },
  }
  const file = join(place, 'settings.yaml')
  // JSON is YAML.
  writeFileSync(file, JSON.stringify({ pool: { use: 'bwrap', warm: 1, offered_mounts: offers } }), { mode: 0o600 })
  ground = await startServer({ place, flags: ['--config', file] })
})
afterAll(async () => {
  await ground.stop()
  rmSync(place, { recursive: true, force: true })
})

const make = (body: object): Promise<Answered> => ground.call('POST', '/sandboxes', { body })
const run = async (id: unknown, command: string): Promise<string> => {
  const answer = await ground.call('POST', `/sandboxes/${String(id)}/commands`, { body: { command } })
  return String(answer.at('stdout')) + String(answer.at('stderr'))
}

describe('mounts of a new sandbox', () => {
  it('are those that are offered, by name, in their mode, and stay with it', async () => {
    const mounts = [
      { name: 'data', guestPath: '/data' },
      { name: 'shared', guestPath: '/mnt/shared' },
    ]
    const made = await make({ key: 'mounted', mounts })
    expect(made.status, made.text).toBe(201)
    expect(made.text).not.toContain(place)
    const id = made.at('id')
    expect(await run(id, 'cat /data/note /mnt/shared/note; echo new > /data/note || echo refused')).toMatch(
      /^of data\nof shared\n[^]*(?:Read-only|read-only)[^]*/,
    )
    expect(readFileSync(join(place, 'data', 'note'), 'utf8')).toBe('of data\n')
    await ground.call('POST', `/sandboxes/${String(id)}/pause`)
    expect(await run(id, 'cat /data/note')).toBe('of data\n')
  })

  it.each([
    [{ name: 'nothing', guestPath: '/data' }, 'POLICY_DENIED'],
    [{ name: 'theirs', guestPath: '/data' }, 'POLICY_DENIED'],
    [{ name: 'data', guestPath: '/data', mode: 'rw' }, 'POLICY_ESCALATION'],
    [{ name: '__proto__', guestPath: '/data' }, 'INVALID_INPUT'],
    [{ name: 'data', guestPath: '/data', hostPath: '/etc' }, 'UNKNOWN_FIELD'],
    [{ guestPath: '/data', hostPath: '/etc' }, 'UNKNOWN_FIELD'],
    ['/data=/etc:ro', 'INVALID_INPUT'],
  ])('%j is refused with %s, and no sandbox is made', async (mount, code) => {
    const before = (await ground.call('GET', '/sandboxes')).at('items') as readonly unknown[]
    const refused = await make({ mounts: [mount] })
    expect(codeOf(refused), refused.text).toBe(code)
    expect(refused.text).not.toContain(place)
    expect((await ground.call('GET', '/sandboxes')).at('items')).toHaveLength(before.length)
  })

  it('the control: a project to which it is offered has it', async () => {
    const made = await make({ project: 'theirs', mounts: [{ name: 'theirs', guestPath: '/data' }] })
    expect(await run(made.at('id'), 'cat /data/note')).toBe('of private\n')
  })
})
