import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { argvOf, cwdOf, wordsOf } from './command.ts'

describe('the words of a command', () => {
  it('a script is run by bash as a login shell', () => {
    expect(wordsOf({ kind: 'shell', command: 'echo $1', args: ['a b'] })).toEqual({
      cmd: 'bash',
      args: ['-lc', 'echo $1', 'bash', 'a b'],
    })
    expect(wordsOf({ kind: 'shell', command: 'bash' })).toEqual({ cmd: 'bash', args: ['-lc', 'bash'] })
  })

  it('bash may be called by its own words', () => {
    const args = ['-lc', 'echo hi']
    expect(wordsOf({ kind: 'shell', command: 'bash', args })).toEqual({ cmd: 'bash', args })
    expect(wordsOf({ kind: 'shell', args })).toEqual({ cmd: 'bash', args })
    expect(() => wordsOf({ kind: 'shell', command: 'bash', args: ['-c', 'x'] })).toThrow('-lc')
    expect(() => wordsOf({ kind: 'shell', args: ['-lc'] })).toThrow('-lc')
    expect(() => wordsOf({ kind: 'shell' })).toThrow('-lc')
  })

  it('python runs code, or a file below the inputs', () => {
    expect(wordsOf({ kind: 'python', command: 'print(1)' }).args).toEqual(['-c', 'print(1)'])
    expect(wordsOf({ kind: 'python', command: 'python', args: ['-c', 'print(1)', 'x'] }).args).toEqual([
      '-c',
      'print(1)',
      'x',
    ])
    expect(wordsOf({ kind: 'python', args: ['/workspace/inputs/main.py', '-v'] }).args).toEqual([
      '/workspace/inputs/main.py',
      '-v',
    ])
    expect(wordsOf({ kind: 'python', command: '/workspace/inputs/a/../main.py' }).args).toEqual([
      '/workspace/inputs/main.py',
    ])
    expect(argvOf({ cmd: 'python', args: ['-c', 'x'] }).slice(-3)).toEqual(['python', '-c', 'x'])
  })

  it('python runs no file from elsewhere', () => {
    const elsewhere = [
      '/workspace/inputs',
      '/workspace/inputs/../work/x.py',
      '/etc/x.py',
      'main.py',
      '-m',
      '/workspace/inputsx/a.py',
    ]
    for (const file of elsewhere)
      expect(() => wordsOf({ kind: 'python', command: 'python', args: [file] }), file).toThrow('/workspace/inputs')
    expect(() => wordsOf({ kind: 'python', command: '/workspace/inputs/../../etc/x.py' })).toThrow('/workspace/inputs')
    expect(() => wordsOf({ kind: 'python' })).toThrow('no code')
  })
})

describe('the length of a command', () => {
  const longest = 128 * 1024 - 1
  it('is bounded in bytes, for each word', () => {
    for (const [most, more] of [
      ['x'.repeat(longest), 'x'.repeat(longest + 1)],
      [`x${'€'.repeat((longest - 1) / 3)}`, '€'.repeat(Math.ceil(longest / 3) + 1)],
    ] as const) {
      expect(wordsOf({ kind: 'shell', command: most }).args[1]).toBe(most)
      expect(wordsOf({ kind: 'python', command: 'x', args: [most] }).args[2]).toBe(most)
      expect(() => wordsOf({ kind: 'shell', command: more })).toThrow(/exec\.command: .*more than 131071 bytes/)
      expect(() => wordsOf({ kind: 'python', command: 'x', args: ['y', more] })).toThrow(/exec\.args\.1: .*131071/)
    }
  })

  it('is bounded in bytes, for all words together', () => {
    const args = Array.from({ length: 4 }, () => '€'.repeat((64 * 1024) / 4))
    expect(wordsOf({ kind: 'shell', command: 'x', args }).args).toHaveLength(7)
    expect(() => wordsOf({ kind: 'shell', command: 'x'.repeat(64 * 1024 + 1), args })).toThrow(
      /exec\.args\.3: .*more than 262144 bytes/,
    )
  })
})

describe('the working directory', () => {
  it('begins at work, and may be below any of the three directories', () => {
    expect(cwdOf(undefined)).toBe('/workspace/work')
    expect(cwdOf('sub/dir')).toBe('/workspace/work/sub/dir')
    expect(cwdOf('../inputs/a')).toBe('/workspace/inputs/a')
    expect(cwdOf('/workspace/artifacts')).toBe('/workspace/artifacts')
  })

  it('never lies outside of them', () => {
    for (const place of ['/', '/workspace', '..', '../..', '/etc', '/workspace/workx', '/tmp'])
      expect(() => cwdOf(place), place).toThrow('outside')
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('/', '.', 'a', 'work', 'inputs', 'workspace'), minLength: 1 }),
        (text) => {
          let path: string
          try {
            path = cwdOf(text)
          } catch {
            return
          }
          expect(path).toMatch(/^\/workspace\/(?:inputs|work|artifacts)(?:\/|$)/)
          expect(path.split('/')).not.toContain('..')
        },
      ),
    )
  })
})
