import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import type { EventSource, StreamedEvent } from './answer.ts'
import { defaultLimits } from './limits.ts'
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

/** As a reader at the other end has it, who takes what there is. */
const read = (source: EventSource, given: StreamOptions): PassThrough => {
  const outlet = new PassThrough()
  void streamEvents(source, outlet, given)
  return outlet
}
const textOf = async (source: EventSource, given: StreamOptions): Promise<string> => text(read(source, given))
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

async function* three(): AsyncGenerator<StreamedEvent> {
  for (const id of [1, 2, 3]) yield { id: String(id), event: 'n', data: { id, text: 'a\nb' } }
}

describe('streamEvents', () => {
  it('writes each event on its own lines, and ends with its source', async () => {
    const given = options()
    const said = await textOf(three, given)
    expect(said).toBe(
      `: glovebox\n\n${[1, 2, 3].map((id) => `id: ${id}\nevent: n\ndata: {"id":${id},"text":"a\\nb"}\n\n`).join('')}`,
    )
    expect(given.ends).toEqual([1])
  })

  it('sends what comes at once with its greeting, and greets whoever has to wait', async () => {
    const pieces = async (source: EventSource): Promise<readonly string[]> =>
      (await read(source, options()).toArray()).map(String)
    async function* late(): AsyncGenerator<StreamedEvent> {
      await pause(15)
      yield { data: 1 }
    }
    expect((await pieces(three))[0]).toMatch(/^: glovebox\n\nid: 1\n/)
    expect(await pieces(late)).toEqual([': glovebox\n\n', 'data: 1\n\n'])
  })

  it('ends, and its source with it, when the reader has gone', async () => {
    const given = options()
    let ended = false
    async function* endless(): AsyncGenerator<StreamedEvent> {
      try {
        for (;;) {
          yield { data: 1 }
          await pause(1)
        }
      } finally {
        ended = true
      }
    }
    const outlet = read(endless, given)
    outlet.once('data', () => outlet.destroy())
    await expect.poll(() => [given.ends, ended]).toEqual([[1], true])
  })

  it('says that it lives while nothing comes', async () => {
    let say = (): void => {}
    const silence = new Promise<void>((resolve) => (say = resolve))
    async function* late(): AsyncGenerator<StreamedEvent> {
      await silence
      yield { data: 1 }
    }
    let said = ''
    for await (const chunk of read(late, options())) {
      said += String(chunk)
      if (said.split(': still here').length > 2) say()
    }
    expect(said).toMatch(/data: 1\n\n$/)
  })

  it('ends with a problem when its source fails', async () => {
    async function* failing(): AsyncGenerator<StreamedEvent> {
      yield { data: 1 }
      throw new Error('/secret/path')
    }
    const said = await textOf(failing, options())
    expect(said).toContain('event: error\ndata: {"type":"urn:glovebox:error:internal"')
    expect(said).not.toContain('/secret')
  })

  it('ends when the token is no longer good, also while events come', async () => {
    async function* endless(): AsyncGenerator<StreamedEvent> {
      for (let count = 0; ; count++) {
        await pause(5)
        yield { data: count }
      }
    }
    const said = await textOf(endless, options({ stillGood: async () => false }))
    expect(said).toContain('TOKEN_REVOKED')
  })

  it('ends within a minute of its token by default: at a heartbeat, or when its reader takes something again', () => {
    const { heartbeatMs, stalledMs } = defaultLimits
    // A timer may ring a little early, and then looks only when it rings again; and what is known of a token is believed for 5 s.
    expect(Math.max(2 * heartbeatMs, stalledMs) + 5000).toBeLessThanOrEqual(60_000)
    expect(heartbeatMs).toBe(15_000)
  })

  it('ends with the server, and its source with it', async () => {
    const server = new AbortController()
    let ended = false
    async function* waiting(signal: AbortSignal): AsyncGenerator<StreamedEvent> {
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      ended = true
      yield* []
    }
    const reading = textOf(waiting, options({ signal: server.signal }))
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
    const outlet = new PassThrough({ highWaterMark: 1 })
    await Promise.all([streamEvents(eager, outlet, given), pause(150)])
    expect(asked).toBeLessThanOrEqual(2)
    expect([given.ends, cut]).toEqual([[1], ['SLOW_CONSUMER']])
  })

  const readThrough = async (given: StreamOptions, isEnough: () => boolean): Promise<void> => {
    const silent = async function* (): AsyncGenerator<StreamedEvent> {
      while (!isEnough()) await pause(5)
      yield { data: 'late' }
    }
    await textOf(silent, given)
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
