import { describe, expect, it } from 'vitest'
import { runCommand } from './commands.ts'
import { eventsReply, fakeServer, jsonReply, problemReply, quick, type FakeServer } from './fake-server.test-support.ts'
import { openServer } from './server.ts'

const place = '/sandboxes/sbx_1'
const execId = 'exec_0123456789abcdef'
const ending = {
  execId,
  ended: { by: 'exit', code: 0 },
  exitCode: 0,
  stdoutTotalBytes: 3,
  stderrTotalBytes: 0,
  stdoutTruncated: false,
  stderrTruncated: false,
  durationMs: 1,
  denials: [],
}
const output = (id: string, text: string, stream = 'stdout'): string =>
  `id: ${id}\nevent: ${stream}\ndata: ${JSON.stringify({ text })}\n\n`
const ended = `id: 3.0\nevent: ended\ndata: ${JSON.stringify(ending)}\n\n`

const begun =
  (text: string, { cut = false, location = `${place}/commands/${execId}/events` } = {}) =>
  (): Response => {
    const { body } = eventsReply(text, { cut })()
    return new Response(body, { headers: { 'content-type': 'text/event-stream', location } })
  }

const run = (fake: FakeServer, options: Parameters<typeof runCommand>[3] = {}) =>
  runCommand(
    openServer({ url: 'http://127.0.0.1:1', token: 't', fetch: fake.fetch, retry: quick }),
    place,
    'true',
    options,
  )

describe('a command from afar', () => {
  it('is begun by one request, and followed where the server says', async () => {
    const fake = fakeServer(begun(output('1.0', 'a'), { cut: true }), eventsReply(output('3.0', 'é') + ended))
    expect(await run(fake)).toMatchObject({ stdout: 'aé', exitCode: 0, execId })
    expect(fake.sent.map(({ method, url }) => `${method} ${new URL(url).pathname}`)).toEqual([
      `POST ${place}/commands`,
      `GET ${place}/commands/${execId}/events`,
    ])
    expect(fake.sent[1]?.headers['last-event-id']).toBe('1.0')
  })

  it('whose output has a gap, or comes twice, is an error and not a result', async () => {
    const gap = fakeServer(begun(output('1.0', 'a') + output('4.0', 'd')))
    await expect(run(gap)).rejects.toMatchObject({ code: 'UNEXPECTED_ANSWER' })
    const twice = fakeServer(begun(output('1.0', 'a'), { cut: true }), eventsReply(output('1.0', 'a') + ended))
    await expect(run(twice)).rejects.toMatchObject({ code: 'UNEXPECTED_ANSWER' })
  })

  it.each(['', '/sandboxes/sbx_2/commands/exec_0123456789/events', `${place}/commands/../../x/events`])(
    'is not followed to where it cannot be: %j',
    async (location) => {
      const fake = fakeServer(begun(ended, { location }))
      await expect(run(fake)).rejects.toMatchObject({ code: 'UNEXPECTED_ANSWER' })
      expect(fake.sent).toHaveLength(1)
    },
  )

  it('that the server has forgotten is lost, with what was heard of it', async () => {
    const forgotten = jsonReply(
      {
        error: { code: 'NOT_FOUND', message: 'Cannot find the command', retryable: false, facts: { what: 'command' } },
      },
      404,
    )
    const fake = fakeServer(begun(output('1.0', 'a'), { cut: true }), forgotten)
    expect(await run(fake)).toMatchObject({ ended: { by: 'lost' }, exitCode: 125, stdout: 'a', stdoutTotalBytes: 1 })
  })

  it('that could not be run is the refusal that the library throws', async () => {
    const told = `event: error\ndata: ${JSON.stringify({ error: { code: 'NOT_FOUND', message: 'Cannot run in /x', retryable: false } })}\n\n`
    await expect(run(fakeServer(begun(told)))).rejects.toMatchObject({ code: 'NOT_FOUND', message: 'Cannot run in /x' })
    await expect(run(fakeServer(problemReply('INVALID_ENV', 400)))).rejects.toMatchObject({ code: 'INVALID_ENV' })
  })

  it('is ended on the server when its signal comes, and its end is heard', async () => {
    const stop = new AbortController()
    let finish = (): void => {}
    const open = (): Response => {
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(new TextEncoder().encode(output('3.0', 'abc')))
          finish = () => {
            controller.enqueue(new TextEncoder().encode(ended))
            controller.close()
          }
        },
      })
      const headers = { 'content-type': 'text/event-stream', location: `${place}/commands/${execId}/events` }
      return new Response(body, { headers })
    }
    const fake = fakeServer(open, () => async () => {
      finish()
      return jsonReply({})()
    })
    const result = await run(fake, { signal: stop.signal, onStdout: () => stop.abort() })
    expect(result.stdout).toBe('abc')
    expect(fake.sent.map(({ method }) => method)).toEqual(['POST', 'DELETE'])
  })

  it('with more input than a server takes is refused before anything is sent', async () => {
    const fake = fakeServer(begun(ended))
    await expect(run(fake, { stdin: new Uint8Array(16 * 1024 * 1024 + 1) })).rejects.toMatchObject({
      code: 'TOO_LARGE',
    })
    expect(fake.sent).toHaveLength(0)
  })
})
