import { describe, expect, it } from 'vitest'
import { renderExplained } from './explain.ts'
import { policyFields } from './fields.ts'
import { resolvePolicy } from './resolve.ts'

const allow = Array.from({ length: 40 }, (_, index) => `host-${index}.example`)
const { explained } = resolvePolicy([
  {
    layer: 'settings',
    source: 'glovebox.yaml',
    values: { network: { mode: 'allowlist', allow }, ceilings: { pids: 300 } },
  },
  { layer: 'request', source: 'Sandbox.create', values: { timeoutMs: 1500, network: { mode: 'none' } } },
])
const lines = renderExplained(explained).split('\n')
const lineOf = (field: string): string => lines.find((line) => line.startsWith(`${field} `)) ?? ''

describe('explain', () => {
  it('lists every field exactly once, in the order of the table', () => {
    const table = lines.slice(1, 1 + policyFields.length)
    expect(table.map((line) => line.split(' ')[0])).toEqual(policyFields)
  })

  it('shows value and ceiling with the layer and source of each', () => {
    expect(lineOf('timeoutMs').split(/ {2,}/)).toEqual([
      'timeoutMs',
      '1500 ms',
      'request (Sandbox.create)',
      '300000 ms',
      'default (built in)',
    ])
    expect(lineOf('maxStdoutBytes')).toContain('1 MiB')
    expect(lineOf('delete')).toMatch(/off +default \(built in\) +off/)
    expect(lineOf('denyRead')).toMatch(/\(nothing\) .* –$/)
  })

  it('aligns its columns', () => {
    const starts = lines
      .slice(1, 1 + policyFields.length)
      .map((line) => /(default|settings|request) \(/.exec(line)?.index)
    expect(new Set(starts).size).toBe(1)
  })

  it('shows every name of a long list below the table, in lines of at most 100 characters', () => {
    const below = lines.slice(1 + policyFields.length).join('\n')
    expect(below).toContain('ceiling of network, from settings (glovebox.yaml):')
    for (const host of allow) expect(below).toContain(host)
    expect(Math.max(...lines.slice(1 + policyFields.length).map((line) => line.length))).toBeLessThanOrEqual(100)
  })
})
