// Sandboxes by key, and their lives: the same key finds the same files, in another process and after a restart; what is parked, paused,
// forked and kept comes back as it was, and what is over is gone.
import { mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { codeOf, startServer, type Answered, type ServerGround } from './server-ground.ts'

let place: string
let ground: ServerGround

beforeAll(async () => {
  place = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-pool-')))
  ground = await startServer({ place })
})
afterAll(async () => {
  await ground.stop()
  rmSync(place, { recursive: true, force: true })
})

const post = (path: string, body: object = {}, headers: Readonly<Record<string, string>> = {}): Promise<Answered> =>
  ground.call('POST', path, { body, headers })
const make = async (body: object = {}): Promise<string> =>
  `/sandboxes/${String((await post('/sandboxes', body)).at('id'))}`
const run = async (sandbox: string, command: string): Promise<string> => {
  const answer = await post(`${sandbox}/commands`, { command })
  if (answer.status !== 200) throw new Error(answer.text)
  return String(answer.at('stdout')) + String(answer.at('stderr'))
}
/** Guards keep a stand-in there while the sandbox lives. */
const listing = 'ls -I glovebox.yaml /workspace'
const stateOf = async (sandbox: string): Promise<unknown> => (await ground.call('GET', sandbox)).at('state')
const restart = async (flags: readonly string[] = []): Promise<void> => {
  const { token } = ground
  await ground.stop()
  ground = await startServer({ place, token, flags })
}

describe('a key', () => {
  it('gives the same sandbox again, with its files, and another key another one', async () => {
    const first = await post('/sandboxes', { key: 'thread-1', name: 'mine' })
    expect([first.status, first.at('key'), first.at('state')]).toEqual([201, 'thread-1', 'active'])
    const sandbox = `/sandboxes/${String(first.at('id'))}`
    await run(sandbox, 'echo here > /workspace/note; echo mine > ~/own')
    const again = await post('/sandboxes', { key: 'thread-1' })
    expect([again.status, again.at('id'), again.at('name')]).toEqual([200, first.at('id'), 'mine'])
    expect(await run(sandbox, 'cat /workspace/note ~/own')).toBe('here\nmine\n')
    const other = await post('/sandboxes', { key: 'thread-2' })
    expect(other.at('id')).not.toBe(first.at('id'))
    expect(await run(`/sandboxes/${String(other.at('id'))}`, listing)).toBe('')
  })

  it('of one project is another sandbox than the same key of another project', async () => {
    const [one, other] = await Promise.all(
      ['one', 'other'].map((project) => post('/sandboxes', { project, key: 'same' })),
    )
    expect(one?.at('id')).not.toBe(other?.at('id'))
  })

  it('that many ask for at once gives one sandbox', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => post('/sandboxes', { key: 'crowd' })))
    expect(new Set(all.map((each) => each.at('id'))).size).toBe(1)
    expect(all.filter(({ status }) => status === 201)).toHaveLength(1)
  })

  it.each(['', 'x'.repeat(501)])('%j is refused', async (key) => {
    expect((await post('/sandboxes', { key })).status).toBe(400)
  })
})

describe('a sandbox that was released', () => {
  it('is taken back by the next use', async () => {
    const sandbox = await make({ key: 'parked' })
    await run(sandbox, 'echo kept > /workspace/note')
    const released = await post(`${sandbox}/release`)
    expect([released.status, released.at('state')]).toEqual([200, 'warm'])
    expect((await post(`${sandbox}/release`)).status).toBe(200)
    expect(await run(sandbox, 'cat /workspace/note')).toBe('kept\n')
    expect(await stateOf(sandbox)).toBe('active')
  })

  it('and removed behind the back of the server is replaced without an error', async () => {
    const sandbox = await make({ key: 'removed' })
    await run(sandbox, 'echo kept > /workspace/note')
    await post(`${sandbox}/release`)
    rmSync(join(ground.state, sandbox.replace('/sandboxes/', 'sandboxes/')), { recursive: true, force: true })
    const again = await post('/sandboxes', { key: 'removed' })
    expect([again.status, `/sandboxes/${String(again.at('id'))}`]).toEqual([201, sandbox])
    expect(await run(sandbox, listing)).toBe('')
  })
})

describe('a life', () => {
  it('can be renewed, and not beyond what the operator allows', async () => {
    const sandbox = await make({ lifeMs: 60_000 })
    const before = Date.parse(String((await ground.call('GET', sandbox)).at('expiresAt')))
    const renewed = await post(`${sandbox}/renew`, { lifeMs: 600_000 })
    expect(Date.parse(String(renewed.at('expiresAt'))) - before).toBeGreaterThan(500_000)
    expect(codeOf(await post(`${sandbox}/renew`, { lifeMs: 1e12 }))).toBe('POLICY_ESCALATION')
    expect((await post(`${sandbox}/renew`, { lifeMs: 300 })).status).toBe(200)
    await expect.poll(async () => (await ground.call('GET', sandbox)).status).toBe(404)
    const id = sandbox.replace('/sandboxes/', '')
    await expect.poll(() => readdirSync(join(ground.state, 'sandboxes'))).not.toContain(id)
  })

  it('at its end it is paused where that was asked for', async () => {
    const sandbox = await make({ lifeMs: 600_000, atEnd: 'pause' })
    await run(sandbox, 'echo kept > /workspace/note')
    expect((await post(`${sandbox}/renew`, { lifeMs: 300 })).status).toBe(200)
    await expect.poll(() => stateOf(sandbox)).toBe('paused')
    expect(await run(sandbox, 'cat /workspace/note')).toBe('kept\n')
  })

  it('goes on over a restart of the server, with the files, and ends at its time', async () => {
    const [named, nameless, short] = [
      await make({ key: 'lasting', env: { KEPT: 'yes' } }),
      await make(),
      await make({ lifeMs: 600_000 }),
    ]
    for (const sandbox of [named, nameless, short]) await run(sandbox, 'echo kept > /workspace/note')
    const end = (await ground.call('GET', named)).at('expiresAt')
    expect((await post(`${short}/renew`, { lifeMs: 8000 })).status).toBe(200)
    await restart()
    expect(await stateOf(named)).toBe('resting')
    expect((await ground.call('GET', named)).at('expiresAt')).toBe(end)
    expect(await run(named, 'cat /workspace/note; echo $KEPT')).toBe('kept\nyes\n')
    expect(await run(nameless, 'cat /workspace/note')).toBe('kept\n')
    expect((await post('/sandboxes', { key: 'lasting' })).status).toBe(200)
    await expect.poll(async () => (await ground.call('GET', short)).status).toBe(404)
  })

  it('a sandbox that comes back is held to the ceilings of today', async () => {
    const sandbox = await make({ key: 'wide', policy: { memoryMb: 2048 } })
    await restart(['--config', tighter()])
    const answer = await post(`${sandbox}/commands`, { command: 'true' })
    expect([answer.status, codeOf(answer)]).toEqual([403, 'POLICY_ESCALATION'])
    await restart()
    expect(await run(sandbox, 'echo back')).toBe('back\n')
  })
})

/** Settings in which less is allowed than before. */
function tighter(): string {
  const file = join(place, 'tighter.yaml')
  writeFileSync(file, 'policy:\n  ceilings:\n    memoryMb: 1024\n', { mode: 0o600 })
  return file
}

describe('a pause', () => {
  it('keeps the files, ends what runs, and any use resumes', async () => {
    const sandbox = await make({ key: 'sleeper' })
    await run(sandbox, 'echo kept > /workspace/note')
    const begun = await post(`${sandbox}/commands`, {
      command: 'sleep 60; echo never > /workspace/never',
      background: true,
    })
    const paused = await post(`${sandbox}/pause`)
    expect([paused.status, paused.at('state')]).toEqual([200, 'paused'])
    expect((await post(`${sandbox}/pause`)).at('state')).toBe('paused')
    const told = async (): Promise<readonly unknown[]> => {
      const command = await ground.call('GET', String(begun.headers['location']))
      return [command.status, command.at('status')]
    }
    await expect.poll(told).toEqual([200, 'ended'])
    expect((await ground.call('GET', sandbox)).status).toBe(200)
    expect(await stateOf(sandbox)).toBe('paused')
    expect((await ground.call('GET', `${sandbox}/files?path=/workspace/note`)).text).toBe('kept\n')
    expect(await stateOf(sandbox)).toBe('active')
    expect(await run(sandbox, listing)).toBe('note\n')
  })

  it('lasts over a restart', async () => {
    const sandbox = await make({ key: 'long-sleeper' })
    await run(sandbox, 'echo kept > /workspace/note')
    await post(`${sandbox}/pause`)
    await restart()
    expect(await stateOf(sandbox)).toBe('paused')
    expect((await post(`${sandbox}/resume`)).at('state')).toBe('active')
    expect(await run(sandbox, 'cat /workspace/note')).toBe('kept\n')
  })
})

describe('a snapshot', () => {
  it('is what others begin with, and what each changes is its own', async () => {
    const origin = await make({ key: 'origin' })
    await run(
      origin,
      'mkdir -p /workspace/dir; echo first > /workspace/dir/note; echo old > /workspace/old; echo own > ~/own',
    )
    const taken = await post(`${origin}/snapshots`, { name: 'first' })
    expect([taken.status, taken.at('name'), taken.at('sandboxId')]).toEqual([
      201,
      'first',
      origin.replace('/sandboxes/', ''),
    ])
    await run(origin, 'echo second > /workspace/dir/note; rm /workspace/old')
    const snapshot = String(taken.at('id'))
    const [one, other] = [await make({ snapshot }), await make({ snapshot })]
    for (const copy of [one, other])
      expect(await run(copy, 'cat /workspace/dir/note /workspace/old ~/own')).toBe('first\nold\nown\n')
    await run(one, 'echo third > /workspace/dir/note; rm -r /workspace/old')
    expect(await run(other, 'cat /workspace/dir/note /workspace/old')).toBe('first\nold\n')
    expect(await run(origin, `cat /workspace/dir/note; ${listing}`)).toBe('second\ndir\n')
    const listed = await ground.call('GET', `/snapshots?sandbox_id=${origin.replace('/sandboxes/', '')}`)
    expect((listed.at('items') as readonly { readonly id: string }[]).map(({ id }) => id)).toEqual([snapshot])
    expect((await ground.call('DELETE', `/snapshots/${snapshot}`)).status).toBe(204)
    expect((await ground.call('DELETE', `/snapshots/${snapshot}`)).status).toBe(404)
    expect((await post('/sandboxes', { snapshot })).status).toBe(404)
    // What stands on it goes on, also after a pause.
    await post(`${other}/pause`)
    expect(await run(other, 'cat /workspace/dir/note')).toBe('first\n')
    for (const each of [one, other, origin]) await ground.call('DELETE', each)
    expect(readdirSync(join(ground.state, 'snapshots'))).toEqual([])
  })

  it('of a snapshot of a snapshot is whole, in a new server too', async () => {
    let sandbox = await make()
    for (const name of ['a', 'b', 'c', 'd']) {
      await run(sandbox, `echo ${name} > /workspace/${name}; echo ${name} > /workspace/last; rm -f /workspace/b`)
      sandbox = await make({ snapshot: String((await post(`${sandbox}/snapshots`)).at('id')) })
    }
    await restart()
    expect(await run(sandbox, `cat /workspace/last; ${listing}`)).toBe('d\na\nc\nd\nlast\n')
  })

  it('is refused while something runs', async () => {
    const sandbox = await make()
    const begun = await post(`${sandbox}/commands`, { command: 'sleep 20', background: true })
    const refused = await post(`${sandbox}/snapshots`)
    expect([refused.status, codeOf(refused)]).toEqual([409, 'BUSY'])
    await ground.call('DELETE', String(begun.headers['location']))
    expect((await post(`${sandbox}/snapshots`)).status).toBe(201)
  })
})

describe('a fork', () => {
  it('begins with the files, policy and environment of the other, once for each key that was sent', async () => {
    const origin = await make({ env: { KEPT: 'yes' }, policy: { memoryMb: 256 } })
    await run(origin, 'echo kept > /workspace/note')
    const fork = (): Promise<Answered> => post(`${origin}/fork`, { count: 3 }, { 'idempotency-key': 'forks' })
    const made = await fork()
    const ids = (made.at('items') as readonly { readonly id: string }[]).map(({ id }) => id)
    expect([made.status, new Set(ids).size]).toEqual([201, 3])
    for (const id of ids) expect(await run(`/sandboxes/${id}`, 'cat /workspace/note; echo $KEPT')).toBe('kept\nyes\n')
    await run(`/sandboxes/${ids[0]}`, 'echo changed > /workspace/note')
    expect(await run(origin, 'cat /workspace/note')).toBe('kept\n')
    const again = (await fork()).at('items') as readonly { readonly id: string }[]
    expect(again.map(({ id }) => id)).toEqual(ids)
  })
})

describe('a list', () => {
  it('is narrowed by what was noted on sandboxes, and by their state', async () => {
    const id = String((await post('/sandboxes', { metadata: { team: 'a b', run: '1&2' } })).at('id'))
    await post('/sandboxes', { metadata: { team: 'a b' } })
    const ids = async (query: string): Promise<readonly string[]> =>
      ((await ground.call('GET', `/sandboxes?${query}`)).at('items') as readonly { readonly id: string }[]).map(
        (each) => each.id,
      )
    const filter = encodeURIComponent(new URLSearchParams({ team: 'a b', run: '1&2' }).toString())
    expect(await ids(`metadata=${filter}`)).toEqual([id])
    await post(`/sandboxes/${id}/pause`)
    expect(await ids(`metadata=${filter}&state=active,warm`)).toEqual([])
    expect(await ids(`metadata=${filter}&state=paused`)).toEqual([id])
    expect((await ground.call('GET', '/sandboxes?state=odd')).status).toBe(400)
  })
})

describe('what a sandbox costs', () => {
  it('is told beside its limits, and asking neither opens it nor keeps it open', async () => {
    const sandbox = await make({ policy: { memoryMb: 128 } })
    await run(sandbox, 'head -c 3000000 /dev/urandom > /workspace/big')
    const begun = await post(`${sandbox}/commands`, { argv: ['sleep', '20'], background: true })
    const seen = await ground.call('GET', `${sandbox}/usage`)
    expect([seen.status, seen.at('memoryLimitBytes')]).toEqual([200, 128 * 1024 * 1024])
    expect(Number(seen.at('diskBytes'))).toBeGreaterThan(3_000_000)
    expect(Number(seen.at('pids'))).toBeGreaterThan(0)
    await ground.call('DELETE', String(begun.headers['location']))
    await post(`${sandbox}/pause`)
    expect((await ground.call('GET', `${sandbox}/usage`)).at('memoryBytes')).toBeNull()
    expect(await stateOf(sandbox)).toBe('paused')
  })

  it('is told for the whole pool', async () => {
    const pool = await ground.call('GET', '/pool')
    expect(Number(pool.at('active'))).toBeGreaterThan(0)
    expect((await ground.call('GET', '/metrics')).text).toMatch(/glovebox_pool_members\{state="active"\} [1-9]/)
  })
})

describe('the layout of a thread', () => {
  it('both ways to give a command at once are refused', async () => {
    const sandbox = await make()
    expect((await post(`${sandbox}/commands`, { argv: ['true'], command: 'true' })).status).toBe(400)
    expect((await post(`${sandbox}/commands`, {})).status).toBe(400)
  })

  it('has its three directories, and begins in the workspace', async () => {
    const sandbox = await make({ layout: 'thread' })
    expect(await run(sandbox, 'pwd; ls /mnt/user-data; echo up > ../uploads/a; cat /mnt/user-data/uploads/a')).toBe(
      '/mnt/user-data/workspace\noutputs\nuploads\nworkspace\nup\n',
    )
    const [copy] = (await post(`${sandbox}/fork`)).at('items') as readonly { readonly id: string }[]
    expect(await run(`/sandboxes/${copy?.id}`, 'cat /mnt/user-data/uploads/a')).toBe('up\n')
  })
})
