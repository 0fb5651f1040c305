import { readFileSync, readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Backend } from '../contract/backend.ts'
import { capabilityNames } from '../contract/capability.ts'
import { conformanceCases, conformanceGroups, reasonToSkip } from './index.ts'

const contract = new URL('../contract/', import.meta.url)

/** No backend keeps records: what is law for those is proved in src/runs. */
const ofRecords = new Set(['run.ts', 'event.ts', 'artifact.ts', 'exec-record.ts'])

/** The sentences marked "Law:" in the contract, without comment marks and line breaks. */
function laws(): readonly string[] {
  const texts = readdirSync(contract)
    .filter((name) => name.endsWith('.ts') && !ofRecords.has(name))
    .map((name) => readFileSync(new URL(name, contract), 'utf8'))
  const sentences = texts.flatMap((text) =>
    [...text.matchAll(/Law: ([\s\S]+?)\s*\*\//g)].map((match) => match[1] ?? ''),
  )
  return sentences.map((sentence) => sentence.replaceAll(/\s*\n\s*(?:\*|\/\/)\s*/g, ' ').replace(/\.$/, ''))
}

const backend = (capabilities: Backend['capabilities']): Backend => ({ name: 'some', capabilities }) as Backend

describe('the conformance suite', () => {
  it('has a case with the same words for every law of the contract', () => {
    const titles = new Set(conformanceCases.map(({ title }) => title))
    const sentences = laws()
    expect(sentences.length).toBeGreaterThanOrEqual(10)
    expect(sentences.filter((sentence) => !titles.has(sentence))).toEqual([])
  })

  it('has at least 150 cases, each under a title of its own', () => {
    expect(conformanceCases.length).toBeGreaterThanOrEqual(150)
    expect(new Set(conformanceCases.map(({ title }) => title)).size).toBe(conformanceCases.length)
    expect(new Set(conformanceGroups.map(({ about }) => about)).size).toBe(conformanceGroups.length)
  })

  it('uses every capability in at least one case, so that none can be claimed unproved', () => {
    const proved = new Set(conformanceCases.flatMap(({ requires = [] }) => requires))
    // The first two are held by Glovebox itself above every backend, so their cases run everywhere.
    // The last is what no backend has yet; the suite proves that it is refused.
    const elsewhere = new Set(['timeout', 'output.bounded', 'network.allowlist'])
    expect(capabilityNames.filter((name) => !proved.has(name) && !elsewhere.has(name))).toEqual([])
  })

  it('names the missing capability when it skips', () => {
    const wanted = { title: 'x', requires: ['memory', 'cpu'], run: async () => {} } as const
    expect(reasonToSkip(backend({ memory: 'cgroup' }), wanted)).toBe('some does not enforce cpu')
    expect(reasonToSkip(backend({ memory: 'cgroup', cpu: 'cgroup' }), wanted)).toBeUndefined()
  })

  it('skips what is about a lack when nothing is lacking', () => {
    const wanted = { title: 'x', lacks: ['memory'], run: async () => {} } as const
    expect(reasonToSkip(backend({ memory: 'cgroup' }), wanted)).toBe('some enforces memory')
    expect(reasonToSkip(backend({}), wanted)).toBeUndefined()
  })
})
