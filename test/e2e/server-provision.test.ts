// Mounts and vaults that come and go over the wire. What of the host a caller may have is offered by name in the operator's settings.
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { client } from './client-ground.ts'
import { codeOf, startServer, type Answered, type ServerGround } from './server-ground.ts'

let place: string
let ground: ServerGround
const directoryOf = (name: string): string => join(place, 'host', name)

const settings = (offers: object): string =>
  JSON.stringify({
    policy: { secrets: ['keys/token'] },
    vaults: { keys: { directory: directoryOf('keys') } },
    pool: { offered_mounts: offers },
  })
const offered = () => ({
  data: { hostPath: directoryOf('data') },
  drop: { hostPath: directoryOf('drop'), mode: 'rw' },
  theirs: { hostPath: directoryOf('theirs'), projects: ['theirs'] },
})

beforeAll(async () => {
  place = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-provision-')))
  for (const name of ['data', 'drop', 'theirs', 'keys', 'private']) {
    mkdirSync(directoryOf(name), { recursive: true })
    writeFileSync(join(directoryOf(name), 'token'), `from ${name}, and long enough\n`)
  }
  mkdirSync(join(place, 'cwd'), { mode: 0o700 })
  writeFileSync(join(place, 'cwd', 'glovebox.yaml'), settings(offered()))
  ground = await startServer({ place })
})
afterAll(async () => {
  await ground.stop()
  rmSync(place, { recursive: true, force: true })
})

const makeSandbox = async (project = 'ours'): Promise<string> =>
  `/sandboxes/${String((await ground.call('POST', '/sandboxes', { body: { project } })).at('id'))}`
const provision = (sandbox: string, body: object): Promise<Answered> =>
  ground.call('POST', `${sandbox}/provision`, { body })
const output = async (sandbox: string, command: string): Promise<string> =>
  String((await ground.call('POST', `${sandbox}/commands`, { body: { command } })).at('stdout'))
const mountsIn = (answer: Answered, at: string): readonly string[] =>
  (answer.at(at) as readonly { readonly guestPath: string; readonly mode: string }[]).map(
    ({ guestPath, mode }) => `${guestPath} ${mode}`,
  )

describe('provisioning over the wire', () => {
  it('a mount comes by its name and goes again; files stay, and what is lost is told', async () => {
    const sandbox = await makeSandbox()
    await output(sandbox, 'echo kept > kept.txt')
    const shells = `${sandbox}/shells`
    const shell = String((await ground.call('POST', shells, { body: {} })).at('id'))
    await ground.call('POST', `${shells}/${shell}/commands`, { body: { command: 'here=there' } })
    const add = [
      { name: 'data', guestPath: '/data' },
      { name: 'drop', guestPath: '/out' },
    ]
    const added = await provision(sandbox, { mounts: { add } })
    expect([added.status, added.at('lost')]).toEqual([200, [expect.stringContaining('1 shell')]])
    expect(mountsIn(added, 'sandbox.description.mounts')).toEqual(expect.arrayContaining(['/data ro', '/out rw']))
    expect(added.text).not.toContain(place)
    const told = await output(
      sandbox,
      'cat /data/token kept.txt; echo x > /data/y || echo refused; echo new > /out/new',
    )
    expect(told).toBe('from data, and long enough\nkept\nrefused\n')
    expect(readFileSync(join(directoryOf('drop'), 'new'), 'utf8')).toBe('new\n')
    const again = await ground.call('POST', `${shells}/${shell}/commands`, { body: { command: 'echo "<$here>"' } })
    expect([again.at('stdout'), again.at('note')]).toEqual([
      '<>\n',
      expect.stringContaining('had ended since the last command'),
    ])
    const gone = await provision(sandbox, { mounts: { remove: ['/data'] } })
    expect(mountsIn(gone, 'sandbox.description.mounts').filter((mount) => mount.startsWith('/data'))).toEqual([])
    expect(await output(sandbox, 'ls /data 2>/dev/null; cat kept.txt')).toBe('kept\n')
    await ground.call('DELETE', sandbox)
  })

  it('a caller gets what is offered to its project, in no wider a mode, and no path of the host', async () => {
    const sandbox = await makeSandbox()
    const before = (await ground.call('GET', sandbox)).at('description.mounts')
    const refused: readonly (readonly [object, string])[] = [
      [{ mounts: { add: [{ name: 'private', guestPath: '/data' }] } }, 'POLICY_DENIED'],
      [{ mounts: { add: [{ name: 'theirs', guestPath: '/data' }] } }, 'POLICY_DENIED'],
      [{ mounts: { add: [{ name: '__proto__', guestPath: '/data' }] } }, 'INVALID_INPUT'],
      [{ mounts: { add: [{ name: 'constructor', guestPath: '/data' }] } }, 'POLICY_DENIED'],
      [{ mounts: { add: [{ name: 'data', guestPath: '/data', mode: 'rw' }] } }, 'POLICY_ESCALATION'],
      [{ mounts: { add: [{ name: 'data', guestPath: '/data', hostPath: '/etc' }] } }, 'UNKNOWN_FIELD'],
      [{ mounts: { add: [{ name: '/etc', guestPath: '/data' }] } }, 'INVALID_INPUT'],
      [{ mounts: { add: [{ name: 'data', guestPath: '/usr/data' }] } }, 'INVALID_INPUT'],
      [{ mounts: { add: [{ name: 'data', guestPath: '/workspace' }] } }, 'ALREADY_EXISTS'],
      [{ mounts: { remove: ['/workspace'] } }, 'NOT_FOUND'],
      [{ mounts: { remove: ['/vaults/keys'] } }, 'NOT_FOUND'],
      [{ vaults: { add: ['other'] } }, 'POLICY_DENIED'],
      // The first half of it would have been possible.
      [{ mounts: { add: [{ name: 'data', guestPath: '/data' }] }, vaults: { add: ['keys'] } }, 'ALREADY_EXISTS'],
    ]
    for (const [body, code] of refused) {
      const answer = await provision(sandbox, body)
      expect([body, codeOf(answer)]).toEqual([body, code])
      expect(answer.text).not.toContain(place)
    }
    expect((await ground.call('GET', sandbox)).at('description.mounts')).toEqual(before)
    const theirs = await makeSandbox('theirs')
    expect((await provision(theirs, { mounts: { add: [{ name: 'theirs', guestPath: '/data' }] } })).status).toBe(200)
    expect(await output(theirs, 'cat /data/token')).toBe('from theirs, and long enough\n')
    for (const one of [sandbox, theirs]) await ground.call('DELETE', one)
  })

  it('while a command runs it is refused, and a vault can be put away and taken back', async () => {
    const sandbox = await makeSandbox()
    const body = { command: 'sleep 30', background: true }
    const execId = String((await ground.call('POST', `${sandbox}/commands`, { body })).at('execId'))
    expect(codeOf(await provision(sandbox, { vaults: { remove: ['keys'] } }))).toBe('BUSY')
    await ground.call('DELETE', `${sandbox}/commands/${execId}`)
    const put = async (change: object): Promise<Answered> => {
      for (;;) {
        const answer = await provision(sandbox, change)
        if (answer.status !== 409) return answer
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
    expect((await put({ vaults: { remove: ['keys'] } })).at('sandbox.description.vaults')).toEqual([])
    const withSecret = { command: 'echo "${#token}"', secrets: ['keys/token'] }
    expect((await ground.call('POST', `${sandbox}/commands`, { body: withSecret })).status).toBeGreaterThanOrEqual(400)
    await provision(sandbox, { vaults: { add: ['keys'] } })
    expect((await ground.call('POST', `${sandbox}/commands`, { body: withSecret })).at('stdout')).toBe('26\n')
    await ground.call('DELETE', sandbox)
  })

  it('a sandbox that was forked, and its fork, are provisioned as others are', async () => {
    const sandbox = await makeSandbox()
    await output(sandbox, 'echo kept > kept.txt')
    await provision(sandbox, { mounts: { add: [{ name: 'drop', guestPath: '/out' }] } })
    const forked = await ground.call('POST', `${sandbox}/fork`, { body: {} })
    const fork = `/sandboxes/${String(forked.at('items.0.id'))}`
    const add = [{ name: 'data', guestPath: '/data' }]
    for (const one of [sandbox, fork]) {
      const taken = await provision(one, { mounts: { add: [{ name: 'data', guestPath: '/out' }] } })
      expect(codeOf(taken)).toBe('ALREADY_EXISTS')
      expect((await provision(one, { mounts: { add }, vaults: { remove: ['keys'] } })).status).toBe(200)
      expect(codeOf(await provision(one, { vaults: { remove: ['keys'] } }))).toBe('NOT_FOUND')
      expect(await output(one, 'cat /data/token kept.txt; ls /out/token')).toBe(
        'from data, and long enough\nkept\n/out/token\n',
      )
      await ground.call('DELETE', one)
    }
  })

  it('holds after a rest and a new start of the server, until the operator offers it no more', async () => {
    const glovebox = client.connect({ url: ground.url, token: ground.token })
    const made = await glovebox.sandboxes.create({ project: 'ours' })
    const { lost } = await glovebox.sandboxes.provision(made.id, {
      mounts: { add: [{ name: 'data', guestPath: '/data' }] },
      vaults: { remove: ['keys'] },
    })
    expect(lost).toEqual([])
    await glovebox.sandboxes.pause(made.id)
    const sandbox = `/sandboxes/${made.id}`
    const seen = 'cat /data/token; ls /vaults/keys 2>&1 | grep -c token'
    expect(await output(sandbox, seen)).toBe('from data, and long enough\n0\n')
    const { token } = ground
    await ground.stop()
    ground = await startServer({ place, token })
    expect(await output(sandbox, seen)).toBe('from data, and long enough\n0\n')
    const { data: _, ...rest } = offered()
    await ground.stop()
    writeFileSync(join(place, 'cwd', 'glovebox.yaml'), settings(rest))
    ground = await startServer({ place, token })
    expect(await output(sandbox, 'ls /data 2>/dev/null || echo none')).toBe('none\n')
    expect(mountsIn(await ground.call('GET', sandbox), 'description.mounts')).not.toContain('/data ro')
  })
})
