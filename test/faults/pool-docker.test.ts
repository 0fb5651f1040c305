// The pool on Docker: containers come and go, taken away behind its back or given back, and the files stay.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { acquire, containers, hasDockerImage, openDockerPool, post, removeContainers, said } from './docker-pool.ts'

describe.runIf(hasDockerImage())('the pool on docker', () => {
  const pool = openDockerPool()

  it('a container that was removed behind the back of the pool is replaced without an error', async () => {
    const { one } = pool()
    const id = (await acquire(one, 'removed')).at('id')
    expect(await said(one, id, 'echo kept > /workspace/note; cat /workspace/note')).toBe('kept\n')
    await post(one, `/sandboxes/${String(id)}/release`)
    const all = containers(pool())
    expect(all, 'the control: there is something to remove').not.toEqual([])
    await removeContainers(all)
    expect((await acquire(one, 'removed')).at('id')).toBe(id)
    expect(await said(one, id, 'cat /workspace/note')).toBe('kept\n')
  })

  it('one that was made ahead and removed before anybody had it works for whoever gets it', async () => {
    const file = join(pool().place, 'ahead.yaml')
    writeFileSync(file, 'pool:\n  use: docker\n  warm: 1\n', { mode: 0o600 })
    const ahead = await pool().another(['--config', file])
    try {
      const isReady = async (): Promise<boolean> =>
        (await ahead.call('GET', '/metrics')).text.includes('glovebox_pool_ready 1')
      await expect.poll(isReady).toBe(true)
      const made = containers(pool(), ahead)
      expect(made).not.toEqual([])
      await removeContainers(made)
      expect(await said(ahead, (await post(ahead, '/sandboxes', {})).at('id'), 'echo works')).toBe('works\n')
    } finally {
      await ahead.stop()
    }
  })

  it('a paused sandbox has no container, and comes back with its files', async () => {
    const alone = await pool().another()
    try {
      const id = (await acquire(alone, 'paused')).at('id')
      await said(alone, id, 'echo kept > /workspace/note')
      expect(containers(pool(), alone)).not.toEqual([])
      await post(alone, `/sandboxes/${String(id)}/pause`)
      await expect.poll(() => containers(pool(), alone)).toEqual([])
      expect(await said(alone, id, 'cat /workspace/note')).toBe('kept\n')
    } finally {
      await alone.stop()
    }
  })

  it('a fork has the files, and its own from then on', async () => {
    const { one } = pool()
    const id = (await acquire(one, 'forked')).at('id')
    await said(one, id, 'echo first > /workspace/note')
    const [copy] = (await post(one, `/sandboxes/${String(id)}/fork`, {})).at('items') as readonly {
      readonly id: string
    }[]
    await said(one, copy?.id, 'echo second > /workspace/note')
    expect(await said(one, id, 'cat /workspace/note')).toBe('first\n')
    expect(await said(one, copy?.id, 'cat /workspace/note')).toBe('second\n')
  })
})
