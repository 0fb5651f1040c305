// Several servers with one pool of containers: what one ends, gives back or leaves behind when it is killed is there for the others.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { codeOf } from '../e2e/server-ground.ts'
import { acquire, containers, hasDockerImage, openDockerPool, post, said } from './docker-pool.ts'

describe.runIf(hasDockerImage())('servers with one pool on docker', () => {
  const pool = openDockerPool()

  it('one that ends leaves no container, and the files', async () => {
    const { one } = pool()
    const brief = await pool().another()
    const id = (await acquire(brief, 'brief')).at('id')
    await said(brief, id, 'echo kept > /workspace/note')
    expect(containers(pool(), brief)).not.toEqual([])
    await brief.stop()
    expect(containers(pool(), brief)).toEqual([])
    expect(await said(one, id, 'cat /workspace/note')).toBe('kept\n')
  })

  it('reach the same sandbox by the same key, one after the other, and see its files', async () => {
    const { one } = pool()
    const other = await pool().another()
    try {
      const id = (await acquire(one, 'thread')).at('id')
      expect(await said(one, id, 'echo one >> /workspace/note; cat /workspace/note')).toBe('one\n')
      expect(codeOf(await acquire(other, 'thread')), 'never at the same time').toBe('BUSY')
      await post(one, `/sandboxes/${String(id)}/release`)
      const taken = await acquire(other, 'thread')
      expect([taken.status, taken.at('id')]).toEqual([200, id])
      expect(await said(other, id, 'echo other >> /workspace/note; cat /workspace/note')).toBe('one\nother\n')
      expect((await acquire(other, 'another')).at('id')).not.toBe(id)
    } finally {
      await other.stop()
    }
  })

  it('a key whose id belongs to another key is refused by all, and nothing of it is shown', async () => {
    const { one, place } = pool()
    const id = String((await acquire(one, 'first')).at('id'))
    await post(one, `/sandboxes/${id}/pause`)
    const file = join(place, 'state', 'sandboxes', id, 'sandbox.json')
    writeFileSync(file, readFileSync(file, 'utf8').replace('"first"', '"second"'))
    const other = await pool().another()
    try {
      const refused = await acquire(other, 'first')
      expect([refused.status, codeOf(refused)]).toEqual([409, 'KEY_COLLISION'])
      expect(refused.text).not.toContain('second')
    } finally {
      await other.stop()
    }
  })

  it('one that is killed leaves its sandbox to another, which ends the container that was left', async () => {
    const { one } = pool()
    const doomed = await pool().another()
    const id = (await acquire(doomed, 'orphan')).at('id')
    await said(doomed, id, 'echo kept > /workspace/note')
    expect(containers(pool(), doomed)).not.toEqual([])
    doomed.server.child.kill('SIGKILL')
    await doomed.server.finished
    const taken = await acquire(one, 'orphan')
    expect([taken.status, taken.at('id')]).toEqual([200, id])
    expect(await said(one, id, 'cat /workspace/note')).toBe('kept\n')
    await expect.poll(() => containers(pool(), doomed)).toEqual([])
  })
})
