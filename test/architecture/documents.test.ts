// Documents speak of files, and files move.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { listFiles, root } from './sources.ts'

const pages = [...readdirSync(root), ...listFiles('docs', 'examples')].filter((path) => path.endsWith('.md'))
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

describe('documents', () => {
  it('every link to a file leads to one', () => {
    const broken = pages.flatMap((path) =>
      [...read(path).matchAll(/\]\(([^)\s]+)\)/g)]
        .map(([, target = '']) => target)
        .filter((target) => !/^(?:https?:|#)/.test(target))
        .filter((target) => !existsSync(join(root, dirname(path), target.replace(/#.*$/, ''))))
        .map((target) => `${path} → ${target}`),
    )
    expect(broken).toEqual([])
  })

  it('no section is empty', () => {
    const empty = pages.flatMap((path) => {
      // What begins with # inside of a block is no heading.
      const lines = read(path)
        .replaceAll(/^```[^]*?^```$/gm, 'block')
        .split('\n')
      const filled = lines.filter((line) => line.trim() !== '')
      const depth = (line: string | undefined): number => /^#+(?= )/.exec(line ?? '')?.[0].length ?? 0
      return filled
        .filter((line, index) => {
          const next = filled[index + 1]
          return depth(line) > 0 && (next === undefined || (depth(next) > 0 && depth(next) <= depth(line)))
        })
        .map((line) => `${path}: ${line}`)
    })
    expect(empty).toEqual([])
  })

  it('every file of the checkout that a document names is there', () => {
    const named = pages.flatMap((path) =>
      [...read(path).matchAll(/`((?:src|test|script|examples|bench|docs)\/[\w./-]+)`/g)].map(([, file = '']) => ({
        path,
        file,
      })),
    )
    expect(named.length).toBeGreaterThan(20)
    expect(named.filter(({ file }) => !/NAME/.test(file) && !existsSync(join(root, file)))).toEqual([])
  })

  it('ARCHITECTURE.md names only functions that its files have', () => {
    const sources = new Map(listFiles('src').map((path) => [path, read(path)]))
    const trace = read('ARCHITECTURE.md')
    const functions = [...trace.matchAll(/`([a-z][A-Za-z]+)`\s+(?:in|\()\s*\(?`([\w./-]+\.ts)`/g)]
    expect(functions.length).toBeGreaterThan(15)
    const missing = functions.filter(([, name = '', file = '']) => {
      const places = [...sources].filter(([path]) => path.endsWith(`/${file}`))
      return !places.some(([, text]) => new RegExp(`\\b(?:function|const)\\s+${name}\\b`).test(text))
    })
    expect(missing.map(([text]) => text)).toEqual([])
  })

  it('every dependency has its sentence in ADR 7', async () => {
    const manifest = (await import('../../package.json', { with: { type: 'json' } })).default
    const { dependencies, optionalDependencies, devDependencies } = manifest
    const names = [dependencies, optionalDependencies, devDependencies].flatMap((each) => Object.keys(each))
    const adr = read('docs/adr/0007-dependencies.md')
    const told = [...adr.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name = '']) => name)
    expect(told.toSorted()).toEqual(names.toSorted())
  })
})
