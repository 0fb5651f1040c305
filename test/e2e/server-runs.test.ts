// Runs over the wire: made, followed, decided about; and a server that is killed in the middle of one.
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseEvents } from '../fixtures/server-contract.ts'
import { codeOf, startServer, type Answered, type ServerGround } from './server-ground.ts'
import { waitForRun } from './server-objects.ts'

let ground: ServerGround

beforeAll(async () => {
  ground = await startServer()
})
afterAll(async () => {
  await ground.stop()
})

const begin = (script: string, more: object = {}): Promise<Answered> =>
  ground.call('POST', '/runs', { body: { prompt: 'Do it.', command: ['sh', '-c', script], ...more } })

async function finished(script: string, more: object = {}, status = 'completed'): Promise<string> {
  const runId = String((await begin(script, more)).at('run_id'))
  await waitForRun(ground, runId, status)
  return runId
}

describe('a run', () => {
  it('is made, goes on behind the answer, and is told by its files', async () => {
    const made = await begin('echo work > /workspace/a.txt; echo done > /deliverables/b.txt', {
      title: 'Both',
      deliverables: ['b.txt'],
    })
    expect([made.status, made.at('executor'), made.at('project')]).toEqual([201, 'command', 'default'])
    const runId = String(made.at('run_id'))
    await waitForRun(ground, runId, 'completed')
    const shown = await ground.call('GET', `/runs/${runId}`)
    expect([shown.at('integrity'), shown.at('crashed'), shown.at('deliverables.0.path')]).toEqual([
      'intact',
      false,
      'b.txt',
    ])
    expect(shown.text).not.toContain(ground.data)
    await expect
      .poll(async () => (await ground.call('GET', `/runs?task_id=${String(made.at('task_id'))}`)).at('items.0.status'))
      .toBe('completed')
    expect((await ground.call('GET', '/runs?status=failed')).at('items')).toEqual([])
    const verified = await ground.glovebox(['runs', 'verify', join(ground.data, 'runs', 'default', runId)])
    expect(verified.code).toBe(0)
  })

  it('that owes a deliverable fails with the reason', async () => {
    const runId = await finished('true', { deliverables: ['missing.txt'] }, 'failed')
    expect((await ground.call('GET', `/runs/${runId}`)).at('record.failure_reason')).toBe('deliverable_missing')
  })

  it('is refused before it exists where it cannot be done', async () => {
    const count = async (): Promise<number> =>
      ((await ground.call('GET', '/runs?limit=100')).at('items') as readonly unknown[]).length
    const before = await count()
    const tries: readonly (readonly [object, number])[] = [
      [{ prompt: 'x' }, 400],
      [{ command: ['true'] }, 400],
      [{ prompt: 'x', command: ['true'], policy: { memoryMb: 100_000 } }, 403],
      [{ prompt: 'x', command: ['true'], backend: 'local' }, 403],
      [{ prompt: 'x', command: ['true'], run_id: '../x' }, 400],
      [{ prompt: 'x', command: ['true'], inputs: ['/etc/passwd'] }, 400],
      [{ prompt: 'x', command: ['true'], env: { 'A-B': 'x' } }, 400],
      [{ prompt: 'x', command: ['true'], revises: 'run_none' }, 404],
    ]
    for (const [body, status] of tries)
      expect([body, (await ground.call('POST', '/runs', { body })).status]).toEqual([body, status])
    expect(await count()).toBe(before)
  })

  it('has one id of its own, also under an Idempotency-Key', async () => {
    const body = { prompt: 'x', command: ['true'], run_id: 'demo-001' }
    expect((await ground.call('POST', '/runs', { body })).status).toBe(201)
    expect(codeOf(await ground.call('POST', '/runs', { body }))).toBe('ALREADY_EXISTS')
    const ask = (): Promise<Answered> =>
      ground.call('POST', '/runs', {
        body: { prompt: 'x', command: ['true'] },
        headers: { 'idempotency-key': 'run-one' },
      })
    const all = await Promise.all(Array.from({ length: 20 }, ask))
    expect(new Set(all.map((each) => each.text)).size).toBe(1)
    expect((await ask()).at('run_id')).toBe(all[0]?.at('run_id'))
  })

  it('tells its events once each, as a page, as a stream, and from any point on', async () => {
    const runId = await finished('echo a; echo b')
    const page = (await ground.call('GET', `/runs/${runId}/events`)).at('items') as readonly { readonly seq: number }[]
    const follow = async (last?: string): Promise<readonly number[]> => {
      const headers = { accept: 'text/event-stream', ...(last === undefined ? {} : { 'last-event-id': last }) }
      return parseEvents((await ground.call('GET', `/runs/${runId}/events`, { headers })).text).map(({ id }) =>
        Number(id),
      )
    }
    const seqs = page.map(({ seq }) => seq)
    expect(seqs).toEqual(seqs.map((_, index) => index + 1))
    expect(await follow()).toEqual(seqs)
    expect(await follow('2')).toEqual(seqs.slice(2))
    const again = { accept: 'text/event-stream', 'last-event-id': '3' }
    const { text } = await ground.call('GET', `/runs/${runId}/events?after=1`, { headers: again })
    expect(parseEvents(text).map(({ id }) => Number(id))).toEqual(seqs.slice(3))
    const read = { ...again, 'last-event-id': String(seqs.at(-1)) }
    expect((await ground.call('GET', `/runs/${runId}/events`, { headers: read })).status).toBe(204)
    const part = await ground.call('GET', `/runs/${runId}/events?after=1&limit=2`)
    expect([(part.at('items') as readonly unknown[]).length, part.at('next_after')]).toEqual([2, 3])
  })

  it('a live run is followed to its end', async () => {
    const runId = String((await begin('sleep 1; echo late')).at('run_id'))
    const { text } = await ground.call('GET', `/runs/${runId}/events`, { headers: { accept: 'text/event-stream' } })
    expect(parseEvents(text).at(-1)).toMatchObject({ event: 'run_ended' })
  })

  it('is cancelled, and cancelling twice is cancelling once', async () => {
    const runId = String((await begin('sleep 60')).at('run_id'))
    await waitForRun(ground, runId, 'running')
    expect((await ground.call('POST', `/runs/${runId}/cancel`)).at('status')).toBe('cancelled')
    expect((await ground.call('POST', `/runs/${runId}/cancel`, { body: {} })).at('status')).toBe('cancelled')
    const done = await finished('true')
    expect(codeOf(await ground.call('POST', `/runs/${done}/cancel`))).toBe('RUN_ENDED')
  })

  it('that waits for review is approved, or sent back and done again', async () => {
    const good = await finished('echo x > /deliverables/x.txt', { review: true }, 'review_required')
    expect((await ground.call('POST', `/runs/${good}/approve`, { body: { message: 'fine' } })).at('status')).toBe(
      'completed',
    )
    expect(codeOf(await ground.call('POST', `/runs/${good}/approve`))).toMatch(/RUN_ENDED|ILLEGAL_TRANSITION/)
    const bad = await finished(
      'echo x > /deliverables/x.txt',
      { review: true, deliverables: ['x.txt'] },
      'review_required',
    )
    expect((await ground.call('POST', `/runs/${bad}/revise`, { body: { message: 'again' } })).at('status')).toBe(
      'revision_required',
    )
    const again = await ground.call('POST', '/runs', { body: { revises: bad } })
    const runId = String(again.at('run_id'))
    await waitForRun(ground, runId, 'review_required')
    expect((await ground.call('GET', `/runs/${runId}`)).at('record.revision_of')).toBe(bad)
  })

  it('nothing to answer is told so', async () => {
    const runId = await finished('true')
    const answer = await ground.call('POST', `/runs/${runId}/answer`, { body: { text: 'yes' } })
    expect([answer.status, codeOf(answer)]).toEqual([409, 'ILLEGAL_TRANSITION'])
  })
})

describe('artifacts', () => {
  it('are listed with their hashes and served whole and in ranges', async () => {
    const runId = await finished('printf 0123456789 > /deliverables/digits.txt; ln -s /etc/passwd /deliverables/link')
    const listed = await ground.call('GET', `/runs/${runId}/artifacts`)
    expect(listed.at('recorded')).toBe(true)
    const place = `/runs/${runId}/artifacts/deliverables/digits.txt`
    const whole = await ground.call('GET', place)
    expect([whole.status, whole.text]).toEqual([200, '0123456789'])
    expect(whole.headers['etag']).toMatch(/^"[0-9a-f]{64}"$/)
    const part = await ground.call('GET', place, { headers: { range: 'bytes=3-5' } })
    expect([part.status, part.text, part.headers['content-range']]).toEqual([206, '345', 'bytes 3-5/10'])
    expect(codeOf(await ground.call('GET', `/runs/${runId}/artifacts/deliverables/link`))).toBe('LINK_REFUSED')
    for (const path of [
      'run.json',
      'events.jsonl',
      '..%2f..%2fetc%2fpasswd',
      'deliverables%2f..%2frun.json',
      'deliverables/%00',
    ])
      expect([path, (await ground.call('GET', `/runs/${runId}/artifacts/${path}`)).status]).toEqual([path, 400])
    expect((await ground.call('GET', `/runs/${runId}/artifacts/deliverables/none`)).status).toBe(404)
  })

  it('an artifact that is not as it was recorded is refused', async () => {
    const runId = await finished('echo one > /deliverables/one.txt')
    const place = join(ground.data, 'runs', 'default', runId, 'deliverables', 'one.txt')
    writeFileSync(place, 'two\n')
    const answer = await ground.call('GET', `/runs/${runId}/artifacts/deliverables/one.txt`)
    expect([answer.status, codeOf(answer)]).toEqual([409, 'ARTIFACT_CHANGED'])
  })
})

describe('a server that is killed', () => {
  it('leaves a run that the next one ends as lost, and finds all that it had answered', async () => {
    const place = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-killed-')))
    const first = await startServer({ place })
    const body = { prompt: 'x', command: ['sleep', '60'] }
    const runId = String((await first.call('POST', '/runs', { body })).at('run_id'))
    await waitForRun(first, runId, 'running')
    first.server.child.kill('SIGKILL')
    await first.server.finished
    const second = await startServer({ place, token: first.token })
    try {
      const shown = await second.call('GET', `/runs/${runId}`)
      expect([shown.at('record.status'), shown.at('crashed')]).toEqual(['lost', false])
      expect((await second.call('GET', '/runs')).at('items.0.status')).toBe('lost')
    } finally {
      await second.stop()
      rmSync(place, { recursive: true, force: true })
    }
  })
})
