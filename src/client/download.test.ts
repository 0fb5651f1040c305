import { describe, expect, it } from 'vitest'
import { download } from './download.ts'
import { fakeServer, problemReply, quick, type FakeServer } from './fake-server.test-support.ts'
import { openServer } from './server.ts'

interface Part {
  readonly text: string
  readonly tag?: string | undefined
  readonly status?: number
  readonly cut?: boolean
}

const part =
  ({ text, tag, status = 200, cut = false }: Part) =>
  (): Response => {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode(text)),
      pull: (controller) => (cut ? controller.error(new TypeError('terminated')) : controller.close()),
    })
    return new Response(body, { status, headers: tag === undefined ? {} : { etag: tag } })
  }

async function downloaded(fake: FakeServer): Promise<string> {
  const server = openServer({ url: 'http://127.0.0.1:1', token: 't', fetch: fake.fetch, retry: quick })
  let text = ''
  for await (const chunk of download(server, { path: '/f', doing: 'read the file' }))
    text += Buffer.from(chunk).toString()
  return text
}

describe('a download', () => {
  it('that breaks off goes on from where it was', async () => {
    const fake = fakeServer(
      part({ text: 'hel', tag: '"a"', cut: true }),
      () => new TypeError('fetch failed'),
      part({ text: 'lo w', tag: '"a"', status: 206, cut: true }),
      part({ text: 'orld', tag: '"a"', status: 206 }),
    )
    expect(await downloaded(fake)).toBe('hello world')
    expect(fake.sent.map(({ headers }) => headers['range'])).toEqual([undefined, 'bytes=3-', 'bytes=3-', 'bytes=7-'])
  })

  it.each([
    ['has another tag', part({ text: 'x', tag: '"b"', status: 206 })],
    ['is the whole once more', part({ text: 'hello', tag: '"a"' })],
    ['has no tag', part({ text: 'lo', status: 206 })],
  ])('whose rest %s is not joined', async (_, second) => {
    const fake = fakeServer(part({ text: 'hel', tag: '"a"', cut: true }), second)
    await expect(downloaded(fake)).rejects.toMatchObject({ code: 'CONFLICT' })
  })

  it('without any tag is not joined either', async () => {
    const fake = fakeServer(part({ text: 'hel', cut: true }), part({ text: 'lo', status: 206 }))
    await expect(downloaded(fake)).rejects.toMatchObject({ code: 'CONFLICT' })
  })

  it('that is refused, or breaks off too often, is told', async () => {
    await expect(downloaded(fakeServer(problemReply('LINK_REFUSED', 403)))).rejects.toMatchObject({
      code: 'LINK_REFUSED',
    })
    const gone = fakeServer(part({ text: 'hel', tag: '"a"', cut: true }), () => new TypeError('fetch failed'))
    await expect(downloaded(gone)).rejects.toMatchObject({ code: 'SERVER_UNREACHABLE' })
    expect(gone.sent).toHaveLength(1 + quick.retries)
  })
})
