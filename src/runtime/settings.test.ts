import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isGloveboxError, type GloveboxError } from '../errors/error.ts'
import { loadSettings, type SettingsPlace } from './settings.ts'

let directory: string
beforeEach(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-settings-')))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const put = (name: string, text: string | Uint8Array): string => {
  const path = join(directory, name)
  writeFileSync(path, text, { mode: 0o644 })
  return path
}

const refusal = async (text?: string): Promise<GloveboxError> => {
  if (text !== undefined) put('glovebox.yaml', text)
  const error = await loadSettings({ directory }).then(
    () => new Error('the settings were accepted'),
    (caught: unknown) => caught,
  )
  if (!isGloveboxError(error)) throw error
  expect(error.code).toBe('INVALID_SETTINGS')
  expect(`${error.message} ${error.hint}`).not.toContain(directory)
  return error
}

describe('loadSettings', () => {
  it('gives no layers when there is no file', async () => {
    expect(await loadSettings({ directory })).toEqual({ layers: [] })
  })

  it('finds the file upward and resolves host paths against its directory', async () => {
    const text =
      'backend: bwrap\nmounts:\n  - /data=./data:ro\n  - { guestPath: /w, hostPath: w }\nenv: { A: "1" }\npolicy: { timeoutMs: 5000 }\n'
    const path = put('glovebox.yaml', text)
    mkdirSync(join(directory, 'a/b'), { recursive: true })
    expect(await loadSettings({ directory: join(directory, 'a/b') })).toEqual({
      path,
      run: { text, directory },
      backend: 'bwrap',
      mounts: [
        { guestPath: '/data', hostPath: join(directory, 'data'), mode: 'ro' },
        { guestPath: '/w', hostPath: join(directory, 'w') },
      ],
      env: { A: '1' },
      layers: [{ layer: 'settings', source: 'glovebox.yaml', values: { timeoutMs: 5000 } }],
    })
  })

  it('lays a policy file over the settings file, as YAML or JSON', async () => {
    put('glovebox.yaml', 'policy: { timeoutMs: 5000 }')
    const policyFile = put(
      'policy.json',
      JSON.stringify({ timeoutMs: 9000, ceilings: { timeoutMs: 9000 } }, null, '\t'),
    )
    const { layers } = await loadSettings({ directory, policyFile })
    expect(layers.map((layer) => [layer.source, layer.values.timeoutMs])).toEqual([
      ['glovebox.yaml', 5000],
      ['--policy', 9000],
    ])
  })

  it('says of which file it speaks', async () => {
    const messageOf = (place: Partial<SettingsPlace>): Promise<string> =>
      loadSettings({ directory, ...place }).then(
        () => 'the file was accepted',
        (caught: unknown) => (isGloveboxError(caught) ? caught.message : String(caught)),
      )
    const gone = join(directory, 'gone')
    expect(await messageOf({ policyFile: gone })).toBe('Cannot use the policy file: it does not exist.')
    expect(await messageOf({ vaultsFile: gone })).toBe('Cannot use the vaults file: it does not exist.')
    expect(await messageOf({ settingsFile: gone })).toBe('Cannot use the settings file: it does not exist.')
    const wrong = put('wrong.yaml', 'network: none\n')
    expect(await messageOf({ policyFile: wrong })).toMatch(/^Cannot use the policy: line 1, column 10: "network": /)
    expect(await messageOf({ vaultsFile: wrong })).toMatch(/^Cannot use the vaults: line 1, column 10: "network": /)
  })

  it('tells a policy file from a settings file', async () => {
    const policyFile = put('p.yaml', 'policy:\n  timeoutMs: 1\n')
    const error: unknown = await loadSettings({ directory, policyFile }).catch((caught: unknown) => caught)
    expect(isGloveboxError(error) && error.hint).toContain('below "policy:"')
  })
})

describe('an unknown key', () => {
  it('is an error with its place and the key that was meant', async () => {
    const error = await refusal('backend: bwrap\npolcy:\n  timeoutMs: 1\n')
    expect(error.message).toContain('line 2, column 1: "polcy" is not a setting')
    expect(error.hint).toBe('Did you mean "policy"?')
    expect(error.operatorDetail).toBe(`${join(directory, 'glovebox.yaml')}:2:1`)
  })

  it('is an error in nested maps and in mounts too', async () => {
    expect((await refusal('policy:\n  timoutMs: 1\n')).hint).toBe('Did you mean "timeoutMs"?')
    expect((await refusal('policy:\n  ceilings:\n    memoryMB2: 1\n')).hint).toBe('Did you mean "memoryMb"?')
    expect((await refusal('policy: { network: { mod: none } }')).hint).toBe('Did you mean "mode"?')
    const mount = await refusal('mounts:\n  - { guestPath: /a, hostpth: /b }\n')
    expect(mount.hint).toBe('Did you mean "hostPath"?')
    expect(mount.message).toContain('line 2')
  })

  it('is not hidden by a name that objects inherit', async () => {
    expect((await refusal('__proto__: { backend: bwrap }')).message).toContain('__proto__')
    expect((await refusal('constructor: 1')).message).toContain('"constructor" is not a setting')
  })
})

describe('an unusable file', () => {
  it.each([
    ['broken YAML', 'backend: [', 'line 1'],
    ['a duplicate key', 'backend: bwrap\nbackend: bwrap\n', 'line 2'],
    ['two documents', 'backend: bwrap\n---\nbackend: bwrap\n', 'line'],
    ['an unknown tag', 'backend: !!js/function "x"\n', 'line 1, column 10'],
    ['nothing at all', '', 'empty'],
    ['a comment alone', '# backend: bwrap\n', 'empty'],
    ['a list', '- backend\n', 'expected object'],
    ['a wrong unit', 'policy: { timeoutMs: 60s }', '"policy.timeoutMs"'],
    ['an unquoted number in env', 'env: { PORT: 8080 }', '"env.PORT"'],
    ['an unknown network mode', 'policy: { network: { mode: off } }', '"policy.network.mode"'],
    ['a network without its mode', 'policy: { network: none }', '"policy.network": it is written { mode: none }'],
    ['a ceiling without its mode', 'policy: { ceilings: { network: full } }', '{ mode: full }'],
    ['isolation switched off', 'backend: local', 'isolates nothing'],
  ])('fails closed on %s and says where', async (_what, text, words) => {
    expect((await refusal(text)).message).toContain(words)
  })

  it('fails closed on aliases that multiply', async () => {
    const levels = Array.from({ length: 9 }, (_, level) => {
      const before = level === 0 ? '"x"' : `*a${level - 1}`
      return `a${level}: &a${level} [${Array(9).fill(before).join(',')}]`
    })
    expect((await refusal(levels.join('\n'))).message).toMatch(/alias/i)
  })

  it('fails closed on bytes that are not UTF-8 and on a file that is too large', async () => {
    put('glovebox.yaml', Uint8Array.of(0x62, 0xff, 0xfe))
    expect((await refusal()).message).toContain('not UTF-8')
    put('glovebox.yaml', '#'.repeat(1024 * 1024 + 1))
    expect((await refusal()).message).toContain('larger than 1 MiB')
  })

  it('is refused, not skipped, when it is a symbolic link, a directory or writable by everybody', async () => {
    put('real.yaml', 'backend: bwrap')
    symlinkSync(join(directory, 'real.yaml'), join(directory, 'glovebox.yaml'))
    expect((await refusal()).message).toContain('symbolic link')
    rmSync(join(directory, 'glovebox.yaml'))
    mkdirSync(join(directory, 'glovebox.yaml'))
    expect((await refusal()).message).toContain('not a regular file')
    rmSync(join(directory, 'glovebox.yaml'), { recursive: true })
    chmodSync(put('glovebox.yaml', 'backend: bwrap'), 0o666)
    expect((await refusal()).message).toContain('everybody')
  })

  it('is refused when its name is misspelt, so that its limits are not lost in silence', async () => {
    put('glovebox.yml', 'backend: bwrap')
    expect((await refusal()).hint).toContain('Rename it to glovebox.yaml')
  })

  it('is refused below the root of a workspace in which a guest has worked', async () => {
    mkdirSync(join(directory, '.glovebox/sandbox'), { recursive: true })
    put('glovebox.yaml', 'backend: bwrap')
    expect((await loadSettings({ directory })).backend).toBe('bwrap')
    mkdirSync(join(directory, 'planted'))
    put('planted/glovebox.yaml', 'backend: bwrap')
    const error = await loadSettings({ directory: join(directory, 'planted') }).catch((caught: unknown) => caught)
    expect(isGloveboxError(error) && error.message).toContain('in which a sandbox can write')
  })

  it.each(['workspace', 'deliverables'])('is refused below the %s of a run', async (tree) => {
    mkdirSync(join(directory, 'run', tree, 'planted'), { recursive: true })
    put('run/events.jsonl', '')
    put(`run/${tree}/planted/glovebox.yaml`, 'policy: { network: { mode: full } }')
    const place = join(directory, 'run', tree, 'planted')
    const error = await loadSettings({ directory: place }).catch((caught: unknown) => caught)
    expect(isGloveboxError(error) && error.message).toContain('in which a sandbox can write')
  })
})

describe('vaults of the settings', () => {
  it('have one source each, with paths from the file on', async () => {
    const text = 'vaults:\n  keys: { directory: keys }\n  ci: { environment: [CI_TOKEN] }\n'
    put('glovebox.yaml', text)
    expect((await loadSettings({ directory })).vaults).toEqual({
      keys: { directory: join(directory, 'keys') },
      ci: { environment: ['CI_TOKEN'] },
    })
    expect((await refusal('vaults: { keys: {} }')).message).toContain('one of directory, environment and command')
    expect((await refusal('vaults: { keys: { directory: a, environment: [B] } }')).message).toContain('one of')
    expect((await refusal('vaults: { "no/name": { directory: a } }')).message).toContain('name of a vault')
    expect((await refusal('vaults: { keys: { file: a } }')).message).toContain('"vaults.keys.file" is not a setting')
  })

  it('run no program, unless the operator named the file', async () => {
    const command = 'ops: { command: { password: [/usr/bin/pass, show, db] } }'
    expect((await refusal(`vaults: { ${command} }`)).message).toContain('would run a program of its choice')
    const named = await loadSettings({ directory, settingsFile: join(directory, 'glovebox.yaml') })
    const vaults = { ops: { command: { password: ['/usr/bin/pass', 'show', 'db'] } } }
    expect(named.vaults).toEqual(vaults)
    rmSync(join(directory, 'glovebox.yaml'))
    expect((await loadSettings({ directory, vaultsFile: put('vaults.yaml', command) })).vaults).toEqual(vaults)
  })
})
