import { describe, expect, it } from 'vitest'
import type { StreamedEvent } from './answer.ts'
import { afterEvent, streamEvents, type StreamOptions } from './sse.ts'

const options = (more: Partial<StreamOptions> = {}): StreamOptions & { readonly ends: number[] } => {
  const ends: number[] = []
  return {
    limits: { heartbeatMs: 20, stalledMs: 60 },
    requestId: 'req_1',
    stillGood: async () => true,
    onEnd: () => ends.push(1),
    delivery: () => undefined,
    cut: () => {},
    signal: new AbortController().signal,
    ends,
    ...more,
  }
}

const textOf = async (stream: ReadableStream<Uint8Array>): Promise<string> => new Response(stream).text()
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

async function* three(): AsyncGenerator<StreamedEvent> {
  for (const id of [1, 2, 3]) yield { id: String(id), event: 'n', data: { id, text: 'a\nb' } }
}

describe('streamEvents', () => {
  it('writes each event on its own lines, and ends with its source', async () => {
    const given = options()
    const text = await textOf(streamEvents(three, given))
    expect(text).toBe(
      `: glovebox\n\n${[1, 2, 3].map((id) => `id: ${id}\nevent: n\ndata: {"id":${id},"text":"a\\nb"}\n\n`).join('')}`,
    )
    expect(given.ends).toEqual([1])
  })

  it('says that it lives while nothing comes', async () => {
    let say = (): void => {}
    const silence = new Promise<void>((resolve) => (say = resolve))
    async function* late(): AsyncGenerator<StreamedEvent> {
      await silence
      yield { data: 1 }
    }
    let text = ''
    for await (const chunk of streamEvents(late, options())) {
      text += Buffer.from(chunk).toString()
      if (text.split(': still here').length > 2) say()
    }
    expect(text).toMatch(/data: 1\n\n$/)
  })

  it('ends with a problem when its source fails', async () => {
    async function* failing(): AsyncGenerator<StreamedEvent> {
      yield { data: 1 }
      throw new Error('/secret/path')
    }
    const text = await textOf(streamEvents(failing, options()))
    expect(text).toContain('event: error\ndata: {"type":"urn:glovebox:error:internal"')
    expect(text).not.toContain('/secret')
  })

  it('ends when the token is no longer good, also while events come', async () => {
    async function* endless(): AsyncGenerator<StreamedEvent> {
      for (let count = 0; ; count++) {
        await pause(5)
        yield { data: count }
      }
    }
    const text = await textOf(streamEvents(endless, options({ stillGood: async () => false })))
    expect(text).toContain('TOKEN_REVOKED')
  })

  it('ends with the server, and its source with it', async () => {
    const server = new AbortController()
    let ended = false
    async function* waiting(signal: AbortSignal): AsyncGenerator<StreamedEvent> {
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      ended = true
      yield* []
    }
    const reading = textOf(streamEvents(waiting, options({ signal: server.signal })))
    await pause(10)
    server.abort()
    expect(await reading).toMatch(/^: glovebox/)
    await pause(5)
    expect(ended).toBe(true)
  })

  it('lets a reader go that takes nothing, and asks its source for no more than one event ahead', async () => {
    let asked = 0
    async function* eager(): AsyncGenerator<StreamedEvent> {
      for (;;) yield { data: ++asked }
    }
    const cut: string[] = []
    const given = options({ cut: ({ code }) => cut.push(code) })
    const reader = streamEvents(eager, given).getReader()
    await reader.read()
    await pause(150)
    expect(asked).toBeLessThanOrEqual(2)
    expect([given.ends, cut]).toEqual([[1], ['SLOW_CONSUMER']])
  })

  const readThrough = async (given: StreamOptions, isEnough: () => boolean): Promise<void> => {
    const silent = async function* (): AsyncGenerator<StreamedEvent> {
      while (!isEnough()) await pause(5)
      yield { data: 'late' }
    }
    const reader = streamEvents(silent, given).getReader()
    for (;;) if ((await reader.read()).done) return
  }
  const patient = { heartbeatMs: 20, stalledMs: 60_000 }

  it('lets a reader go that nothing reaches', async () => {
    let isOver = false
    const cut = new Promise<string>((resolve) => {
      const delivery = () => ({ arrivedBytes: 100, waitingBytes: 14 })
      void readThrough(options({ delivery, limits: patient, cut: ({ code }) => resolve(code) }), () => isOver)
    })
    expect(await cut).toBe('SLOW_CONSUMER')
    isOver = true
  })

  it('keeps a slow reader, at which something arrives', async () => {
    let arrivedBytes = 0
    const cut: string[] = []
    const delivery = () => ({ arrivedBytes: ++arrivedBytes, waitingBytes: 14 })
    await readThrough(options({ delivery, limits: patient, cut: ({ code }) => cut.push(code) }), () => arrivedBytes > 2)
    expect(cut).toEqual([])
  })
})

describe('afterEvent', () => {
  it('begins at the beginning, or behind a number', () => {
    expect([afterEvent(undefined), afterEvent(''), afterEvent('7')]).toEqual([0, 0, 7])
    for (const bad of ['x', '-1', '1e3', '9'.repeat(30)]) expect(() => afterEvent(bad)).toThrow('Last-Event-ID')
  })
})
