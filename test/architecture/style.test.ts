// The house style, as far as a machine can tell.
import { describe, expect, it } from 'vitest'
import { listFiles, readSources } from './sources.ts'

const all = readSources('src', 'test', 'bench', 'examples')
const source = all.filter(({ path, isTest }) => path.startsWith('src/') && !isTest)

const hidingWords = /^(?:utils?|helpers?|common|shared|misc|managers?|services?|base|impl)$/i

/** The file that a newcomer to a room opens first. */
const mainFiles: Readonly<Record<string, string>> = {
  contract: 'src/contract/backend.ts',
  errors: 'src/errors/error.ts',
  paths: 'src/paths/host-files.ts',
  policy: 'src/policy/resolve.ts',
  process: 'src/process/spawn.ts',
  guards: 'src/guards/protection.ts',
  backends: 'src/backends/registry.ts',
  'backends/bwrap': 'src/backends/bwrap/backend.ts',
  'backends/bwrap/limits': 'src/backends/bwrap/limits/limits.ts',
  'backends/bwrap/seccomp': 'src/backends/bwrap/seccomp/filter.ts',
  'backends/bwrap/launcher': 'src/backends/bwrap/launcher/launcher.ts',
  'backends/docker': 'src/backends/docker/backend.ts',
  'backends/local': 'src/backends/local/backend.ts',
  actions: 'src/actions/registry.ts',
  tools: 'src/tools/tools.ts',
  executors: 'src/executors/model/executor.ts',
  runs: 'src/runs/run.ts',
  audit: 'src/audit/log.ts',
  catalog: 'src/catalog/catalog.ts',
  execs: 'src/execs/execs.ts',
  shells: 'src/shells/shell.ts',
  store: 'src/store/open.ts',
  vaults: 'src/vaults/vaults.ts',
  pool: 'src/pool/pool.ts',
  runtime: 'src/runtime/create.ts',
  server: 'src/server/http/app.ts',
  client: 'src/client/index.ts',
  cli: 'src/cli/main.ts',
  testing: 'src/testing/index.ts',
}

const openingLines = (text: string): number => {
  const lines = text.split('\n')
  const end = lines.findIndex((line) => !line.startsWith('//'))
  return end < 0 ? lines.length : end
}

describe('style', () => {
  it("every room's main file opens with three to eight lines of comment", () => {
    const openings = Object.values(mainFiles).map((path) => {
      const file = source.find((each) => each.path === path)
      return { path, lines: file === undefined ? -1 : openingLines(file.text) }
    })
    expect(openings.filter(({ lines }) => lines < 3 || lines > 8)).toEqual([])
  })

  it('every room has a main file in the table', () => {
    const rooms = new Set(
      source.filter(({ path }) => path.split('/').length > 2).map(({ path }) => path.split('/')[1] ?? ''),
    )
    expect([...rooms].filter((room) => mainFiles[room] === undefined)).toEqual([])
  })

  it('no file has a name that hides a missing idea', () => {
    const files = listFiles('src', 'test', 'bench', 'script', 'examples')
    expect(files.filter((path) => path.split(/[/.-]/).some((word) => hidingWords.test(word)))).toEqual([])
  })

  it('no source file has more than 300 lines, and the median has fewer than 100', () => {
    const lengths = source.map(({ path, text }) => ({ path, lines: text.split('\n').length - 1 }))
    expect(lengths.filter(({ lines }) => lines > 300)).toEqual([])
    const sorted = lengths.map(({ lines }) => lines).toSorted((a, b) => a - b)
    expect(sorted[Math.floor(sorted.length / 2)]).toBeLessThan(100)
  })

  it('nothing is a default export', () => {
    expect(
      source.filter(({ code }) => /\bexport\s+default\b|\bas\s+default\b/.test(code)).map(({ path }) => path),
    ).toEqual([])
  })

  it('there are no enums and no namespaces', () => {
    const found = source.filter(({ code }) =>
      /^\s*(?:export\s+|declare\s+|const\s+)*(?:enum|namespace)\s+\w/m.test(code),
    )
    expect(found.map(({ path }) => path)).toEqual([])
  })

  it('nothing has the type any', () => {
    expect(
      source
        .filter(({ code }) => /(?:[:<|&,(=]|\bas)\s*any\b(?!\s*[(:?])|\bany\[\]/.test(code))
        .map(({ path }) => path),
    ).toEqual([])
  })

  it('nothing inherits but errors', () => {
    const heirs = source.flatMap(({ path, code }) =>
      [...code.matchAll(/\bclass\s+\w+(?:<[^{]*>)?\s+extends\s+(\w+)/g)]
        .filter(([, parent = '']) => !parent.endsWith('Error'))
        .map(([text]) => `${path}: ${text}`),
    )
    expect(heirs).toEqual([])
  })

  it('no module keeps a variable that can be set anew', () => {
    const kept = source.filter(({ code }) => /^(?:export\s+)?(?:let|var)\s/m.test(code))
    expect(kept.map(({ path }) => path)).toEqual([])
  })
})
