// What is loaded when. The start of a short command is paid by everyone, so what it loads is a promise.
import { describe, expect, it } from 'vitest'
import { chainTo, importsOf, readSources, staticClosure } from './sources.ts'

const files = readSources('src').filter(({ isTest }) => !isTest)

/** `glovebox exec` without a settings file loads these one after the other; each brings what it imports statically. */
const execPath = [
  'src/cli/main.ts',
  'src/cli/commands/exec.ts',
  'src/backends/bwrap/backend.ts',
  'src/backends/bwrap/launcher/owned-launcher.ts',
  'src/backends/bwrap/launcher/root-launcher.ts',
  'src/backends/bwrap/launcher/thread.ts',
]
const ofTheServer = ['hono', '@hono/node-server', '@hono/zod-openapi', 'pino', 'prom-client']
const heavy = [
  'zod',
  'yaml',
  '@vscode/ripgrep',
  'koffi',
  'picocolors',
  'kysely',
  'pg',
  '@photostructure/sqlite',
  ...ofTheServer,
]

describe('start', () => {
  it('the files of the exec path exist', () => {
    expect(execPath.filter((path) => !files.some((file) => file.path === path))).toEqual([])
  })

  it.each(heavy)('%s is not loaded by a plain exec', (name) => {
    const chains = execPath.flatMap((start) => {
      const loaded = staticClosure(files, start)
      return loaded.has(name) ? [chainTo(loaded, name)] : []
    })
    expect(chains).toEqual([])
  })

  it('the check above finds zod where it is loaded', () => {
    expect(staticClosure(files, 'src/actions/registry.ts').has('zod')).toBe(true)
  })

  it('importing the library loads no backend', () => {
    const loaded = staticClosure(files, 'src/index.ts')
    const backends = [...loaded.keys()].filter((path) => /^src\/backends\/[^/]+\//.test(path))
    expect(loaded.has('src/backends/registry.ts')).toBe(true)
    expect(backends.map((path) => chainTo(loaded, path))).toEqual([])
  })

  it('importing the library loads nothing of the server', () => {
    const loaded = staticClosure(files, 'src/index.ts')
    const found = [...loaded.keys()].filter((name) => ofTheServer.includes(name) || name.startsWith('src/server/'))
    expect(found.map((name) => chainTo(loaded, name))).toEqual([])
    expect(staticClosure(files, 'src/server/http/serve.ts').has('hono')).toBe(true)
  })

  it('each database is loaded only when it is the one that was named', () => {
    const loaded = staticClosure(files, 'src/store/open.ts')
    expect(loaded.has('kysely')).toBe(true)
    expect(['pg', '@photostructure/sqlite'].filter((name) => loaded.has(name))).toEqual([])
    for (const start of ['src/index.ts', 'src/cli/main.ts'])
      expect(staticClosure(files, start).has('kysely')).toBe(false)
  })

  it('only the model executor names the AI SDK, and it loads it lazily', () => {
    const named = files.flatMap((file) =>
      importsOf(file)
        .filter(({ kind, target }) => kind !== 'type' && /^(?:ai$|@ai-sdk\/)/.test(target))
        .map(({ kind }) => `${file.path} (${kind})`),
    )
    expect(new Set(named)).toEqual(new Set(['src/executors/model/provider.ts (dynamic)']))
  })

  it('every package that is imported is a dependency, and every dependency is imported', async () => {
    const manifest = (await import('../../package.json', { with: { type: 'json' } })).default
    const declared = [...Object.keys(manifest.dependencies), ...Object.keys(manifest.optionalDependencies)]
    const imported = files
      .flatMap((file) => [
        ...importsOf(file).map(({ target }) => target),
        // createRequire(…)('name') and require.resolve('name')
        ...file.strings.filter((text) => declared.includes(text)),
      ])
      .filter((target) => !target.startsWith('src/') && !target.startsWith('node:'))
    expect([...new Set(imported)].toSorted()).toEqual(declared.toSorted())
  })
})
