import { describe, expect, it } from 'vitest'
import type { LayerName, OperatorPolicy, PolicyLayer } from '../contract/policy.ts'
import { GloveboxError } from '../errors/error.ts'
import { builtInProtectedNames } from './protect.ts'
import { resolvePolicy, type ResolveOptions } from './resolve.ts'

const layer = (name: LayerName, values: OperatorPolicy, source: string = name): PolicyLayer => ({
  layer: name,
  source,
  values,
})
const settings = (values: OperatorPolicy, source = 'glovebox.yaml'): PolicyLayer => layer('settings', values, source)
const request = (values: OperatorPolicy): PolicyLayer => layer('request', values, 'Sandbox.create')
const skill = (values: OperatorPolicy): PolicyLayer => layer('skill', values, 'a.skill')

function refusal(layers: readonly PolicyLayer[], options?: ResolveOptions): GloveboxError {
  try {
    resolvePolicy(layers, options)
  } catch (error) {
    if (error instanceof GloveboxError) return error
    throw error
  }
  throw new Error('nothing was refused')
}
const untyped = (values: unknown): OperatorPolicy => values as OperatorPolicy

describe('the default policy', () => {
  it('has the values and ceilings of the design and demands nothing', () => {
    const { effective, ceilings, demanded } = resolvePolicy([])
    expect(effective).toMatchObject({
      network: { mode: 'none', allow: [] },
      timeoutMs: 60_000,
      maxStdoutBytes: 1_048_576,
      maxStderrBytes: 1_048_576,
      maxArtifactsBytes: 52_428_800,
      memoryMb: 1024,
      cpuCores: 1,
      pids: 256,
      env: [],
      delete: false,
      denyRead: [],
    })
    expect(ceilings).toMatchObject({
      network: { mode: 'none', allow: [] },
      timeoutMs: 300_000,
      maxStdoutBytes: 10_485_760,
      maxStderrBytes: 10_485_760,
      maxArtifactsBytes: 209_715_200,
      memoryMb: 4096,
      cpuCores: 4,
      pids: 512,
      env: [],
      delete: false,
    })
    expect(effective.protect).toEqual(builtInProtectedNames)
    expect(demanded.size).toBe(0)
  })
})

describe('layers', () => {
  it('a later layer replaces a value, and explain names it', () => {
    const { effective, explained } = resolvePolicy([
      settings({ timeoutMs: 1000 }),
      settings({ timeoutMs: 2000 }, '--policy'),
      skill({ timeoutMs: 3000 }),
      request({ pids: 9 }),
    ])
    expect(effective).toMatchObject({ timeoutMs: 3000, pids: 9 })
    expect(explained.find(({ field }) => field === 'timeoutMs')?.from).toEqual({ layer: 'skill', source: 'a.skill' })
  })

  it('layers apply in the order of the law, whatever the order in which they come', () => {
    const layers = [request({ timeoutMs: 400_000 }), skill({ pids: 4 }), settings({ ceilings: { timeoutMs: 500_000 } })]
    expect(resolvePolicy(layers)).toEqual(resolvePolicy(layers.toReversed()))
  })

  it('a layer that is not the operator’s, a skill’s or a request’s is refused', () => {
    expect(refusal([layer('default', { timeoutMs: 1 })]).code).toBe('INVALID_INPUT')
    expect(refusal([{ layer: 'Settings' as LayerName, source: 'x', values: {} }]).code).toBe('INVALID_INPUT')
  })

  it('what a person set is demanded, and what only the default set is not', () => {
    const { demanded } = resolvePolicy([settings({ memoryMb: 100 }), request({ pids: 256 })])
    expect([...demanded].toSorted()).toEqual(['memoryMb', 'pids'])
  })

  it('a ceiling below the built-in one is a demand, and one above it is not', () => {
    const { demanded } = resolvePolicy([
      settings({ ceilings: { memoryMb: 2048, pids: 9999, network: { mode: 'full' } } }),
    ])
    expect([...demanded]).toEqual(['memoryMb'])
  })
})

describe('ceilings', () => {
  it('a request above a ceiling is refused with field, asked, allowed and the layer that set the ceiling', () => {
    const error = refusal([settings({ ceilings: { timeoutMs: 90_000 } }), request({ timeoutMs: 90_001 })])
    expect(error.code).toBe('POLICY_ESCALATION')
    expect(error.facts).toEqual({
      field: 'timeoutMs',
      asked: 90_001,
      allowed: 90_000,
      ceilingFrom: { layer: 'settings', source: 'glovebox.yaml' },
      layer: 'request',
      source: 'Sandbox.create',
    })
    expect(error.message).toMatch(
      /timeoutMs.*request \(Sandbox\.create\).*90001 ms.*settings \(glovebox\.yaml\).*90000 ms/,
    )
  })

  it('a value at the ceiling is allowed', () => {
    expect(resolvePolicy([request({ timeoutMs: 300_000 })]).effective.timeoutMs).toBe(300_000)
  })

  it('settings lift a ceiling by an explicit ceiling or by their own value', () => {
    expect(resolvePolicy([settings({ memoryMb: 8192 }), request({ memoryMb: 8000 })]).ceilings.memoryMb).toBe(8192)
    const explicit = resolvePolicy([settings({ ceilings: { memoryMb: 8192 } }), request({ memoryMb: 8000 })])
    expect(explicit.effective.memoryMb).toBe(8000)
  })

  it('a value of settings below the ceiling leaves the ceiling where it is', () => {
    expect(resolvePolicy([settings({ timeoutMs: 5 }), request({ timeoutMs: 300_000 })]).effective.timeoutMs).toBe(
      300_000,
    )
  })

  it('a lowered ceiling takes the value with it, and explain says who did it', () => {
    const { effective, explained, demanded } = resolvePolicy([settings({ ceilings: { timeoutMs: 1000 } })])
    expect(effective.timeoutMs).toBe(1000)
    expect(explained.find(({ field }) => field === 'timeoutMs')?.from).toEqual({
      layer: 'settings',
      source: 'glovebox.yaml, by its ceiling',
    })
    expect(demanded.has('timeoutMs')).toBe(true)
  })

  it('settings whose own value is above their own ceiling are refused as settings', () => {
    expect(refusal([settings({ timeoutMs: 2000, ceilings: { timeoutMs: 1000 } })]).code).toBe('INVALID_SETTINGS')
  })

  it('neither a skill nor a request can move a ceiling or give up a protection, not even with an empty one', () => {
    for (const by of [skill, request]) {
      expect(refusal([by({ ceilings: {} })])).toMatchObject({ code: 'POLICY_ESCALATION', facts: { field: 'ceilings' } })
      expect(refusal([by({ unprotect: [] })])).toMatchObject({
        code: 'POLICY_ESCALATION',
        facts: { field: 'unprotect' },
      })
    }
  })

  it('delete is off, and only settings turn it on', () => {
    expect(refusal([request({ delete: true })]).code).toBe('POLICY_ESCALATION')
    expect(resolvePolicy([settings({ delete: true })]).effective.delete).toBe(true)
    expect(resolvePolicy([settings({ ceilings: { delete: true } }), request({ delete: true })]).effective.delete).toBe(
      true,
    )
    expect(resolvePolicy([settings({ delete: true }), request({ delete: false })]).effective.delete).toBe(false)
  })
})

describe('network', () => {
  const listed = settings({ network: { mode: 'allowlist', allow: ['a.example', 'b.example:8443'] } })

  it('a request opens nothing by itself', () => {
    expect(refusal([request({ network: { mode: 'full' } })]).code).toBe('POLICY_ESCALATION')
    expect(refusal([request({ network: { mode: 'allowlist', allow: [] } })]).code).toBe('POLICY_ESCALATION')
    expect(refusal([listed, request({ network: { mode: 'full' } })]).message).toContain('network.mode')
  })

  it('an entry that is not in the list of settings is refused and named', () => {
    const error = refusal([listed, request({ network: { mode: 'allowlist', allow: ['a.example', 'evil.example'] } })])
    expect(error.code).toBe('POLICY_ESCALATION')
    expect(error.message).toMatch(/network\.allow.*evil\.example, and/)
  })

  it('neither a suffix, another port nor another case of an entry is the entry', () => {
    for (const entry of ['example', 'x.a.example', 'b.example', 'b.example:84430', 'A.example', 'a.example.']) {
      expect(refusal([listed, request({ network: { mode: 'allowlist', allow: [entry] } })]).code).toBe(
        'POLICY_ESCALATION',
      )
    }
  })

  it('an empty list denies everything, and so does a missing one', () => {
    for (const network of [{ mode: 'allowlist', allow: [] }, { mode: 'allowlist' }] as const) {
      const resolved = resolvePolicy([settings(untyped({ network }))])
      expect(resolved.effective.network).toEqual({ mode: 'allowlist', allow: [] })
      const ask = request({ network: { mode: 'allowlist', allow: ['a.example'] } })
      expect(refusal([settings(untyped({ network })), ask]).code).toBe('POLICY_ESCALATION')
    }
  })

  it('under a full ceiling any list may be asked for', () => {
    const open = settings({ ceilings: { network: { mode: 'full' } } })
    const { effective } = resolvePolicy([open, request({ network: { mode: 'allowlist', allow: ['x.example'] } })])
    expect(effective.network).toEqual({ mode: 'allowlist', allow: ['x.example'] })
  })

  it('a list beside a mode that ignores it is refused', () => {
    for (const mode of ['none', 'full'] as const) {
      expect(refusal([settings({ network: { mode, allow: [] } })])).toMatchObject({
        code: 'INVALID_INPUT',
        facts: { field: 'settings.network.allow' },
      })
    }
  })

  it('a lowered ceiling keeps only the entries that it holds', () => {
    const lower = settings(
      { ceilings: { network: { mode: 'allowlist', allow: ['a.example', 'c.example'] } } },
      '--policy',
    )
    expect(resolvePolicy([listed, lower]).effective.network).toEqual({ mode: 'allowlist', allow: ['a.example'] })
  })

  it('a later list of settings replaces the ceiling and does not add to it', () => {
    const other = settings({ network: { mode: 'allowlist', allow: ['c.example'] } }, '--policy')
    const ask = request({ network: { mode: 'allowlist', allow: ['a.example'] } })
    expect(refusal([listed, other, ask]).code).toBe('POLICY_ESCALATION')
  })
})

describe('secrets', () => {
  it('none is granted unless settings name it, and a request has no more than settings let it have', () => {
    expect(resolvePolicy([]).effective.secrets).toEqual([])
    expect(refusal([request({ secrets: ['keys/token'] })]).code).toBe('POLICY_ESCALATION')
    const granted = settings({ secrets: ['keys/a', 'keys/b'] })
    expect(resolvePolicy([granted]).effective.secrets).toEqual(['keys/a', 'keys/b'])
    expect(resolvePolicy([granted, request({ secrets: ['keys/b'] })]).effective.secrets).toEqual(['keys/b'])
    expect(refusal([granted, skill({ secrets: ['keys/c'] })]).message).toContain('keys/c')
  })

  it('a ceiling lets a request ask, and grants nothing by itself', () => {
    const allowed = settings({ ceilings: { secrets: ['keys/a'] } })
    expect(resolvePolicy([allowed]).effective.secrets).toEqual([])
    expect(resolvePolicy([allowed, request({ secrets: ['keys/a'] })]).effective.secrets).toEqual(['keys/a'])
  })

  it.each(['token', 'keys/', '/token', 'keys/*', 'keys/a/b', '../keys/a', 'keys/a b'])(
    '"%s" names no secret',
    (name) => {
      expect(refusal([settings({ secrets: [name] })]).code).toBe('INVALID_INPUT')
    },
  )
})

describe('environment names', () => {
  it('only settings add a name, and a request may choose among them', () => {
    expect(refusal([request({ env: ['AWS_SECRET_ACCESS_KEY'] })]).message).toContain('AWS_SECRET_ACCESS_KEY')
    const granted = settings({ env: ['A', 'B'] })
    expect(resolvePolicy([granted, request({ env: ['B'] })]).effective.env).toEqual(['B'])
    expect(refusal([granted, skill({ env: ['B', 'C'] })]).code).toBe('POLICY_ESCALATION')
  })
})

describe('restrictions', () => {
  it('protect and denyRead add up over the layers', () => {
    const { effective } = resolvePolicy([
      settings({ protect: ['./deploy//keys/'], denyRead: ['/workspace/secret/'] }),
      request({ protect: ['Makefile', '.git/hooks'], denyRead: ['/workspace/./other'] }),
    ])
    expect(effective.protect).toEqual([...builtInProtectedNames, 'deploy/keys', 'Makefile'])
    expect(effective.denyRead).toEqual(['/workspace/secret', '/workspace/other'])
  })

  it('settings give up a name with all below it, and no other', () => {
    const { effective, demanded } = resolvePolicy([settings({ unprotect: ['.git'] })])
    expect(effective.protect.filter((name) => name.startsWith('.git'))).toEqual(['.gitmodules', '.gitconfig'])
    expect(demanded.has('protect')).toBe(false)
  })

  it('a layer can keep a part of what it gives up', () => {
    const { effective } = resolvePolicy([settings({ unprotect: ['.git'], protect: ['.git/hooks'] })])
    expect(effective.protect).toContain('.git/hooks')
    expect(effective.protect).not.toContain('.git/config')
  })

  it('giving up a name twice is no fault, and giving up an unknown name is', () => {
    expect(
      resolvePolicy([settings({ unprotect: ['.idea'] }), settings({ unprotect: ['.idea'] })]).effective.protect,
    ).not.toContain('.idea')
    expect(refusal([settings({ unprotect: ['.vscod'] })]).code).toBe('INVALID_SETTINGS')
  })

  it('Glovebox’s own files cannot be given up', () => {
    expect(refusal([settings({ unprotect: ['.glovebox'] })]).code).toBe('INVALID_SETTINGS')
    expect(refusal([settings({ unprotect: ['glovebox.yaml'] })]).code).toBe('INVALID_SETTINGS')
  })

  it('a path that is absolute, climbs or names nothing is refused', () => {
    for (const name of ['/etc', '../x', 'a/../b', '.', '', 'a\0b']) {
      expect(refusal([request({ protect: [name] })]).code).toBe('INVALID_INPUT')
    }
    for (const path of ['secret', '/', '/a/../b', '/a\0']) {
      expect(refusal([request({ denyRead: [path] })]).code).toBe('INVALID_INPUT')
    }
  })
})

describe('a sandbox inside a sandbox', () => {
  const parent = resolvePolicy([
    settings({
      memoryMb: 512,
      env: ['A'],
      denyRead: ['/workspace/x'],
      network: { mode: 'allowlist', allow: ['a.example'] },
    }),
  ]).effective
  const inside = { parentCeilings: parent }

  it('starts within the values of its parent and demands none of them', () => {
    const { effective, ceilings, explained, demanded } = resolvePolicy([], inside)
    expect(effective.memoryMb).toBe(512)
    expect(effective.network.mode).toBe('none')
    expect(ceilings.timeoutMs).toBe(60_000)
    expect(effective.denyRead).toEqual(['/workspace/x'])
    expect(explained.find(({ field }) => field === 'memoryMb')?.ceiling?.from.source).toBe('parent sandbox')
    expect(demanded.has('memoryMb')).toBe(false)
  })

  it('not even settings move a ceiling of the parent', () => {
    for (const values of [
      { memoryMb: 513 },
      { ceilings: { memoryMb: 513 } },
      { network: { mode: 'full' } },
      { network: { mode: 'allowlist', allow: ['b.example'] } },
      { env: ['A', 'B'] },
      { delete: true },
      { unprotect: ['.git'] },
    ] as const) {
      expect(refusal([settings(untyped(values))], inside).code).toBe('POLICY_ESCALATION')
    }
  })

  it('settings may use what the parent has', () => {
    const { effective } = resolvePolicy(
      [settings({ env: ['A'], network: { mode: 'allowlist', allow: ['a.example'] } })],
      inside,
    )
    expect(effective.network.allow).toEqual(['a.example'])
    expect(effective.env).toEqual(['A'])
  })
})

describe('bad values', () => {
  it.each([
    ['timeoutMs', 0],
    ['timeoutMs', -1],
    ['timeoutMs', Number.NaN],
    ['timeoutMs', Number.POSITIVE_INFINITY],
    ['timeoutMs', 1.5],
    ['timeoutMs', 1e12],
    ['timeoutMs', '5'],
    ['timeoutMs', null],
    ['memoryMb', 0],
    ['cpuCores', 1e6],
    ['cpuCores', 0],
    ['pids', true],
    ['delete', 'yes'],
    ['env', 'PATH'],
    ['env', ['A=B']],
    ['env', ['é']],
    ['network', 'full'],
    ['network', {}],
    ['network', { mode: 'Full' }],
    ['network', { mode: 'allowlist', allow: ['a b'] }],
    ['network', { mode: 'allowlist', allow: ['evil\0.example'] }],
    ['network', { mode: 'none', allowed: [] }],
    ['timeoutms', 5],
  ])('%s of %j is refused with its path', (field, value) => {
    for (const by of [settings, request]) {
      const error = refusal([by(untyped({ [field]: value }))])
      expect(error.code).toBe('INVALID_INPUT')
      expect(String(error.facts['field'])).toContain(`.${field}`)
    }
  })

  it('an unknown ceiling is refused, and so is a ceiling for a field that has none', () => {
    expect(refusal([settings(untyped({ ceilings: { timeout: 1 } }))]).code).toBe('INVALID_INPUT')
    expect(refusal([settings(untyped({ ceilings: { protect: [] } }))]).code).toBe('INVALID_INPUT')
    expect(refusal([settings(untyped({ ceilings: [] }))]).code).toBe('INVALID_INPUT')
  })

  it('a key of the prototype sets no value', () => {
    for (const text of [
      '{"__proto__":{"timeoutMs":1}}',
      '{"constructor":{}}',
      '{"ceilings":{"__proto__":{"pids":1}}}',
    ]) {
      expect(refusal([settings(untyped(JSON.parse(text)))]).code).toBe('INVALID_INPUT')
    }
    const inherited = Object.create({ timeoutMs: 1, ceilings: { pids: 9999 } }) as OperatorPolicy
    expect(resolvePolicy([request(inherited)])).toEqual(resolvePolicy([]))
    expect(({} as Record<string, unknown>)['timeoutMs']).toBeUndefined()
  })

  it('a value that is undefined is absent', () => {
    expect(resolvePolicy([request(untyped({ timeoutMs: undefined, ceilings: undefined }))])).toEqual(resolvePolicy([]))
  })
})
