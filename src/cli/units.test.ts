import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isGloveboxError } from '../errors/error.ts'
import {
  formatBytes,
  formatMs,
  parseCores,
  parseCount,
  parseDurationMs,
  parseMebibytes,
  parseSizeBytes,
} from './units.ts'

const refusal = (act: () => unknown): string => {
  try {
    act()
  } catch (error) {
    if (isGloveboxError(error)) return `${error.code} ${error.message} ${error.hint}`
    throw error
  }
  throw new Error('it was accepted')
}

describe('a size', () => {
  it.each([
    ['1', 1],
    ['64k', 65_536],
    ['512m', 536_870_912],
    ['512M', 536_870_912],
    ['1g', 1_073_741_824],
    ['1GiB', 1_073_741_824],
    ['1gb', 1_073_741_824],
    ['1.5k', 1536],
    ['10b', 10],
  ])('%s is %i bytes', (text, bytes) => {
    expect(parseSizeBytes(text, '--max-stdout')).toBe(bytes)
  })

  it.each(['', 'm', '-1m', '1x', '1e3', '0', '0.0001k', '1m2', 'ib', '99999999t', '0x10', '１m', 'constructor'])(
    'refuses %j',
    (text) => {
      expect(refusal(() => parseSizeBytes(text, '--max-stdout'))).toMatch(/^INVALID_INPUT Cannot read --max-stdout: /)
    },
  )

  it('of memory is a whole number of MiB, and a forgotten unit is explained', () => {
    expect(parseMebibytes('512m', '--memory')).toBe(512)
    expect(parseMebibytes('2g', '--memory')).toBe(2048)
    expect(refusal(() => parseMebibytes('512', '--memory'))).toContain('512m')
    expect(refusal(() => parseMebibytes('1.5m', '--memory'))).toContain('whole number of MiB')
  })
})

describe('a duration', () => {
  it.each([
    ['500ms', 500],
    ['60s', 60_000],
    ['2m', 120_000],
    ['1h', 3_600_000],
    ['30d', 2_592_000_000],
    ['1.5s', 1500],
  ])('%s is %i ms', (text, ms) => {
    expect(parseDurationMs(text, '--timeout')).toBe(ms)
  })

  it.each(['', '-1s', '1w', '0s', '0.1ms', 's', '1s1s', 'Infinity', 'constructor'])('refuses %j', (text) => {
    expect(refusal(() => parseDurationMs(text, '--timeout'))).toMatch(/^INVALID_INPUT/)
  })

  it('that is none is refused with every unit there is', () => {
    const told = refusal(() => parseDurationMs('soon', '--timeout'))
    expect(told).toContain('Write 500ms, 60s, 2m, 1h or 30d.')
    for (const text of ['500ms', '60s', '2m', '1h', '30d'])
      expect(parseDurationMs(text, '--timeout')).toBeGreaterThan(0)
  })

  it('without a unit is refused, since seconds and milliseconds are both usual', () => {
    expect(refusal(() => parseDurationMs('60', '--timeout'))).toContain('60s for seconds or 60ms')
  })
})

describe('a number', () => {
  it('of processes is whole and above zero', () => {
    expect(parseCount('128', '--pids')).toBe(128)
    for (const text of ['0', '-1', '1.5', '', ' 1', '1e2']) {
      expect(refusal(() => parseCount(text, '--pids'))).toContain('--pids')
    }
  })

  it('of cores may be a fraction, but is above zero', () => {
    expect(parseCores('0.5', '--cpus')).toBe(0.5)
    for (const text of ['0', '-1', 'NaN', '', 'Infinity', '.5']) {
      expect(refusal(() => parseCores(text, '--cpus'))).toContain('--cpus')
    }
  })
})

describe('whatever is typed', () => {
  it('is either a positive safe integer or INVALID_INPUT', () => {
    const typed = fc.oneof(fc.string(), fc.stringMatching(/^[0-9.]{0,20}[a-z]{0,3}$/))
    fc.assert(
      fc.property(
        typed,
        fc.constantFrom(parseSizeBytes, parseMebibytes, parseDurationMs, parseCount),
        (text, parse) => {
          let value: number
          try {
            value = parse(text, '--flag')
          } catch (error) {
            expect(isGloveboxError(error) && error.code).toBe('INVALID_INPUT')
            return
          }
          expect(Number.isSafeInteger(value) && value > 0).toBe(true)
        },
      ),
    )
  })
})

describe('what is shown', () => {
  it('carries its unit', () => {
    expect(formatBytes(1023)).toBe('1023 bytes')
    expect(formatBytes(1_048_576)).toBe('1 MiB')
    expect(formatBytes(2_147_483_648)).toBe('2 GiB')
    expect(formatMs(4.6)).toBe('5 ms')
    expect(formatMs(1500)).toBe('1.5 s')
    expect(formatMs(300_000)).toBe('5 min')
  })
})
