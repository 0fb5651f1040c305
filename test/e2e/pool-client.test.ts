// The lives of sandboxes through the client: the same words as the routes, and `await using` that does what its holder means.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { client } from './client-ground.ts'
import { startServer, type ServerGround } from './server-ground.ts'

let ground: ServerGround
let sandboxes: ReturnType<typeof client.connect>['sandboxes']

beforeAll(async () => {
  ground = await startServer({ flags: ['--limit', 'total=3', '--limit', 'waitMs=2500'] })
  sandboxes = client.connect({ url: ground.url, token: ground.token, retry: { retries: 0 } }).sandboxes
})
afterAll(async () => void (await ground.stop()))

const stateOf = async (id: string): Promise<unknown> => (await ground.call('GET', `/sandboxes/${id}`)).at('state')

describe('the client', () => {
  it('gives a sandbox of a key back, and ends one without', async () => {
    const ids: string[] = []
    {
      await using named = await sandboxes.create({ key: 'k', metadata: { team: 'a' } })
      await using nameless = await sandboxes.create()
      await named.files.write('note', 'kept')
      ids.push(named.id, nameless.id)
    }
    expect(await stateOf(ids[0] ?? '')).toBe('warm')
    expect((await ground.call('GET', `/sandboxes/${ids[1]}`)).status).toBe(404)
    await using again = await sandboxes.create({ key: 'k' })
    expect([again.id, await again.files.read('note')]).toEqual([ids[0], 'kept'])
    expect((await sandboxes.list({ metadata: { team: 'a' }, states: ['active'] })).items).toMatchObject([{ key: 'k' }])
    expect((await sandboxes.list({ metadata: { team: 'b' } })).items).toEqual([])
  })

  it('renews, pauses, resumes, forks and keeps', async () => {
    const sandbox = await sandboxes.create({ key: 'life' })
    await sandbox.files.write('note', 'kept')
    const { expiresAt } = await sandboxes.renew(sandbox.id, 7_200_000)
    expect(Date.parse(expiresAt) - Date.now()).toBeGreaterThan(7_000_000)
    expect((await sandboxes.pause(sandbox.id)).state).toBe('paused')
    expect(await sandboxes.usage(sandbox.id)).toMatchObject({ memoryBytes: null })
    expect((await sandboxes.resume(sandbox.id)).state).toBe('active')
    const snapshot = await sandboxes.snapshots.create(sandbox.id, { name: 'one' })
    expect((await sandboxes.snapshots.list({ name: 'one' })).items).toEqual([snapshot])
    expect(await sandboxes.snapshots.get(snapshot.id)).toEqual(snapshot)
    const [fork] = await sandboxes.fork(sandbox.id)
    await using copy = await sandboxes.connect(fork?.id ?? '')
    expect(await copy.files.read('note')).toBe('kept')
    await copy.kill()
    await sandbox.kill()
    await using later = await sandboxes.create({ snapshot: snapshot.id })
    expect(await later.files.read('note')).toBe('kept')
    await sandboxes.snapshots.delete(snapshot.id)
    await expect(sandboxes.snapshots.get(snapshot.id)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  it('is told when every place is in use, and the one that was released longest ago makes room', async () => {
    const held = [await sandboxes.create(), await sandboxes.create(), await sandboxes.create()]
    await expect(sandboxes.create()).rejects.toMatchObject({ code: 'CAPACITY_EXCEEDED' })
    const before = (await sandboxes.pool()).ended['evicted'] ?? 0
    const [first, second] = held
    await first?.files.write('note', 'kept')
    await sandboxes.release(first?.id ?? '')
    await sandboxes.release(second?.id ?? '')
    const more = await sandboxes.create()
    expect([await stateOf(first?.id ?? ''), await stateOf(second?.id ?? '')]).toEqual(['resting', 'warm'])
    await more.kill()
    expect(await first?.files.read('note')).toBe('kept')
    const { active, replicas, ended } = await sandboxes.pool()
    expect([active, replicas, ended['evicted']]).toEqual([2, 3, before + 1])
    for (const sandbox of held) await sandbox.kill()
  })
})
