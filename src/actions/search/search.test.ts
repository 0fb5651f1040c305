import { describe, expect, it } from 'vitest'
import fc from 'fast-check'
import type { GuestPath } from '../../contract/mount.ts'
import { searchDiagnostics } from './diagnostics.ts'
import { parseSearchEvent } from './events.ts'
import { excludeArgument, globArgument, isDirectlyInside } from './globs.ts'
import { ignoredFor } from './ignored.ts'
import { cutLine, matchCollector } from './matches.ts'
import { recordReader } from './records.ts'
import { absolutePath, refuseVault, vaultsBelow } from './root.ts'

const guest = (text: string): GuestPath => text as GuestPath

describe('records', () => {
  const read = (chunks: readonly Uint8Array[], maxBytes = 1000): string[] => {
    const records: string[] = []
    const reader = recordReader({ separator: 0x0a, maxBytes, take: (record) => records.push(record.toString()) > 0 })
    for (const chunk of chunks) reader.push(chunk)
    reader.end()
    return records
  }

  it('are the same however the stream is cut into chunks', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'é', '\n'), maxLength: 60 })
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 7 }), (stream, size) => {
        const bytes = Buffer.from(stream)
        const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
          bytes.subarray(index * size, (index + 1) * size),
        )
        const whole = stream.split('\n')
        if (whole.at(-1) === '') whole.pop()
        expect(read(chunks)).toEqual(whole)
      }),
    )
  })

  it('keep only the head of an overlong one', () => {
    expect(read([Buffer.from('abcdef'), Buffer.from('ghi\nxy\n')], 4)).toEqual(['abcd', 'xy'])
  })

  it('end when the taker has enough', () => {
    const taken: string[] = []
    const reader = recordReader({ separator: 0, maxBytes: 9, take: (record) => taken.push(record.toString()) < 2 })
    reader.push(Buffer.from('a\0b\0c\0d'))
    reader.push(Buffer.from('e\0'))
    reader.end()
    expect(taken).toEqual(['a', 'b'])
  })
})

describe('events', () => {
  const event = (type: string, data: object): Buffer => Buffer.from(JSON.stringify({ type, data }))

  it('give path, line and text, without the line end', () => {
    const match = event('match', {
      path: { text: './a' },
      lines: { text: 'x\r\n' },
      line_number: 3,
      absolute_offset: 0,
      submatches: [{}],
    })
    expect(parseSearchEvent(match)).toEqual({ type: 'match', path: './a', line: 3, text: 'x' })
  })

  it('are read although the list of submatches was cut off', () => {
    const text = 'say ,"submatches":[ or not'
    const whole = event('match', {
      path: { text: './a' },
      lines: { text },
      line_number: 1,
      absolute_offset: 0,
      submatches: [{ start: 0 }],
    })
    expect(parseSearchEvent(whole.subarray(0, whole.length - 6))).toMatchObject({ text })
  })

  it('carry text that is not UTF-8', () => {
    const lines = { bytes: Buffer.from([0x61, 0xff, 0x0a]).toString('base64') }
    expect(
      parseSearchEvent(event('match', { path: { text: 'p' }, lines, line_number: 1, submatches: [] })),
    ).toMatchObject({ text: 'a\uFFFD' })
  })

  it('that make no sense are nothing', () => {
    for (const bad of ['', '{', '[]', 'null', '{"type":"match"}', '{"type":"match","data":{"path":{}}}']) {
      expect(parseSearchEvent(Buffer.from(bad))).toBeUndefined()
    }
  })

  it('of a binary file take its matches back', () => {
    const collector = matchCollector(10)
    collector.take({ type: 'match', path: 'b', line: 1, text: 'x' })
    collector.take({ type: 'match', path: 'a', line: 2, text: 'x' })
    collector.take({ type: 'match', path: 'a', line: 1, text: 'x' })
    collector.take({ type: 'end', path: 'b', binary: true })
    expect(collector.matches().map((match) => `${match.path}${match.line}`)).toEqual(['a1', 'a2'])
    expect(collector.binaryFiles).toBe(1)
    expect(collector.finished).toBe(false)
  })

  it('beyond the number asked for stop the search', () => {
    const collector = matchCollector(1)
    expect(collector.take({ type: 'match', path: 'a', line: 1, text: '' })).toBe(true)
    expect(collector.take({ type: 'match', path: 'a', line: 2, text: '' })).toBe(false)
    expect(collector.matches()).toHaveLength(1)
  })

  it('with a long line are cut between characters', () => {
    expect(cutLine('x'.repeat(500))).toHaveLength(500)
    expect(cutLine('😀'.repeat(400))).not.toMatch(/\p{Surrogate}/u)
    expect(cutLine('😀'.repeat(400)).length).toBeLessThanOrEqual(500)
    expect(cutLine(`a${'😀'.repeat(400)}`)).not.toMatch(/\p{Surrogate}/u)
  })
})

describe('diagnostics', () => {
  it('count skipped and unreadable files', () => {
    const told = searchDiagnostics()
    told.push('rg: DEBUG|ignore::walk|walk.rs:1929: ignoring ./a/big.txt: 1500006 bytes')
    told.push('rg: DEBUG|ignore::walk|walk.rs:1942: ignoring ./node_modules: Ignore(x)')
    told.push('rg: DEBUG|grep_printer::json|json.rs:792: ignoring ./a/bin: found binary data at offset 0')
    told.push('rg: ./secret: Permission denied (os error 13)')
    expect(told).toMatchObject({ skippedLarge: 1, skippedBinary: 1, unreadable: 1, complaint: undefined })
  })

  it('repeat a complaint about the pattern, without advice about flags, and nothing that could name a path', () => {
    const told = searchDiagnostics()
    for (const line of [
      'rg: regex parse error:',
      '    (?:()',
      '    ^',
      'error: unclosed group',
      '',
      'Consider enabling',
    ])
      told.push(line)
    expect(told.complaint).toBe('regex parse error:\n    (?:()\n    ^\nerror: unclosed group')
    const other = searchDiagnostics()
    other.push('rg: /host/place: No such file')
    expect(other.complaint).toBeUndefined()
  })
})

describe('patterns', () => {
  it('that would negate, comment or lose blanks mean themselves', () => {
    expect(globArgument('!a')).toBe(String.raw`\!a`)
    expect(globArgument('#a')).toBe(String.raw`\#a`)
    expect(globArgument('a ')).toBe('a[ ]')
    expect(globArgument('./a')).toBe('a')
    expect(globArgument('-a')).toBe('-a')
  })

  it('that cannot be meant are refused', () => {
    for (const bad of ['/abs', 'a/', '../a', 'a/../b', 'a\nb', 'a\0b', './']) {
      expect(() => globArgument(bad)).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }))
    }
  })

  it('without a slash stay in the directory', () => {
    expect(['*.ts', 'a', '{a,b}'].map(isDirectlyInside)).toEqual([true, true, true])
    expect(['**', 'a/*.ts', '**/a'].map(isDirectlyInside)).toEqual([false, false, false])
  })

  it('that spell out an ignored directory open it', () => {
    expect(ignoredFor({ includeIgnored: false, pattern: '**/*.js' })).toContain('dist')
    expect(ignoredFor({ includeIgnored: false, pattern: 'dist/*.js' })).not.toContain('dist')
    expect(ignoredFor({ includeIgnored: true })).toEqual([])
  })
})

describe('vaults', () => {
  const mounts = [
    { guestPath: '/workspace', mode: 'rw' as const },
    { guestPath: '/workspace/vault', mode: 'vault' as const },
    { guestPath: '/workspace/vault/open', mode: 'ro' as const },
  ]

  it('are not searched, and a mount inside one is not the vault', () => {
    expect(() => refuseVault(mounts, guest('/workspace/vault/key'))).toThrow(expect.objectContaining({ code: 'VAULT' }))
    expect(() => refuseVault(mounts, guest('/workspace/vaulted'))).not.toThrow()
    expect(() => refuseVault(mounts, guest('/workspace/vault/open/a'))).not.toThrow()
    expect(vaultsBelow(mounts, guest('/workspace'))).toEqual(['vault'])
    expect(excludeArgument('va[u]lt')).toBe(String.raw`--glob=!va\[u\]lt/**`)
  })

  it('paths are told as the guest knows them', () => {
    expect(absolutePath(guest('/workspace'), './a/b')).toBe('/workspace/a/b')
    expect(absolutePath(guest('/'), 'a')).toBe('/a')
  })
})
