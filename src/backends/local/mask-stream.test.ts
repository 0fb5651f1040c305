import { pipeline } from 'node:stream/promises'
import { Readable, Writable } from 'node:stream'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cases } from '../../../test/fixtures/cases.ts'
import { startsInOutput } from './edges.ts'
import { createMaskStream } from './mask-stream.ts'
import { openReplacer, replaceAll, type Replacement } from './replacer.ts'

const table: Replacement[] = [
  { from: '/srv/app', to: '/workspace' },
  { from: '/srv/app/.glovebox/sandbox', to: '/home/agent' },
  { from: '/srv/app2', to: '/mnt/two' },
]

async function throughStream(chunks: readonly Uint8Array[]): Promise<Buffer> {
  const out: Buffer[] = []
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      out.push(chunk)
      done()
    },
  })
  await pipeline(Readable.from(chunks, { objectMode: true }), createMaskStream(table), sink)
  return Buffer.concat(out)
}

const whole = (bytes: Uint8Array): Buffer => replaceAll(bytes, table, startsInOutput)

/** Text made of what is likely to confuse: whole paths, halves of paths, edges, and bytes that are no text. */
const fragment = fc.oneof(
  fc.constantFrom(
    '/srv/app',
    '/srv/app/.glovebox/sandbox',
    '/srv/app2',
    '/srv/ap',
    '/srv',
    '/',
    '.',
    '-',
    'x',
    ' ',
    '\n',
  ),
  fc.constantFrom('/srv/app/.glovebox/sand', '\u001b[31m', '‘', '’', 'é', '"', 'a/', '//', 'file://', '-I', '\\n'),
)
const bytes = fc
  .array(
    fc.oneof({ weight: 5, arbitrary: fragment.map((text) => Buffer.from(text)) }, fc.uint8Array({ maxLength: 4 })),
    {
      maxLength: 40,
    },
  )
  .map((parts) => Buffer.concat(parts))

const cut = (source: Buffer, at: readonly number[]): Buffer[] => {
  const places = [...new Set(at.map((place) => place % (source.length + 1)))].sort((a, b) => a - b)
  return [0, ...places].map((from, index) => source.subarray(from, places[index] ?? source.length))
}

describe('masking a stream', () => {
  it('any cut into chunks gives the same as the whole', () => {
    fc.assert(
      fc.property(bytes, fc.array(fc.nat(400), { maxLength: 20 }), (source, at) => {
        const replacer = openReplacer(table, startsInOutput)
        const pieces = cut(source, at).map((chunk) => replacer.push(chunk))
        expect(Buffer.concat([...pieces, replacer.end()]).equals(whole(source))).toBe(true)
      }),
      cases(2000),
    )
  })

  it('a path cut at any place is masked', async () => {
    const text = Buffer.from('at /srv/app/.glovebox/sandbox/x and /srv/app/y.\n')
    for (let place = 0; place <= text.length; place += 1) {
      const masked = await throughStream([text.subarray(0, place), text.subarray(place)])
      expect(masked.toString()).toBe('at /home/agent/x and /workspace/y.\n')
    }
  })

  it('no host path survives between text boundaries', () => {
    const edge = fc.constantFrom(' ', '\n', '"', "'", ':', '=', '(', '\0', '\t', '>', '‘', '→')
    fc.assert(
      fc.property(
        fc.array(
          fc.tuple(
            edge,
            fragment.filter((text) => text.startsWith('/srv/app')),
            edge,
          ),
        ),
        (parts) => {
          const masked = whole(Buffer.from(parts.flat().join(''))).toString()
          expect(masked).not.toMatch(/\/srv\/app2?(?![\w.-])/)
        },
      ),
    )
  })

  it('bytes without a host path pass unchanged', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (source) => {
        expect(whole(source).equals(Buffer.from(source))).toBe(true)
      }),
    )
  })

  it('invalid UTF-8 and NULs around a path survive', () => {
    const source = Buffer.concat([
      Buffer.from([0xff, 0, 0xc3]),
      Buffer.from(' /srv/app/x\0'),
      Buffer.from([0x80, 0xfe]),
    ])
    const wanted = Buffer.concat([
      Buffer.from([0xff, 0, 0xc3]),
      Buffer.from(' /workspace/x\0'),
      Buffer.from([0x80, 0xfe]),
    ])
    expect(whole(source).equals(wanted)).toBe(true)
  })

  it('what is held back is never more than the longest path and two bytes', () => {
    const path = '/srv/app/.glovebox/sandbox'
    const replacer = openReplacer([{ from: path, to: '/home/agent' }], startsInOutput)
    const text = Buffer.from(` ${path.slice(0, -1)} ${path}x`.repeat(20))
    let held = 0
    for (const byte of text) {
      held += 1 - replacer.push(Uint8Array.of(byte)).length
      expect(held).toBeLessThanOrEqual(path.length + 2)
    }
    expect(replacer.end().length).toBe(held)
  })

  it('an unfinished path is given out at the end', async () => {
    expect((await throughStream([Buffer.from('see /srv/ap')])).toString()).toBe('see /srv/ap')
    expect((await throughStream([Buffer.from('see /srv/app')])).toString()).toBe('see /workspace')
  })

  it('with nothing to mask every byte passes', () => {
    const replacer = openReplacer([], startsInOutput)
    expect(replacer.push(Buffer.from('/srv/app')).toString()).toBe('/srv/app')
    expect(replacer.end().length).toBe(0)
  })
})
