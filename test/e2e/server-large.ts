// Bodies as large as the server takes, in the forms that cost a reader the most: one long text, many short ones, and what has to be read
// twice. For the fuzzer, which asks how long the loop stands still for them.
import { gzipSync } from 'node:zlib'
import type { Asked } from './server-ground.ts'

const mebibyte = 1024 * 1024
const most = 31 * mebibyte
const exec = { kind: 'shell', command: 'true' }
const asked = (project_id: string, more: object): string => JSON.stringify({ project_id, exec, ...more })
const named = (count: number, name: (at: number) => string): object =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [name(at), 'x']))

const forms: Readonly<Record<string, (project: string) => string>> = {
  'one text': (project) => asked(project, { inputs: [{ path: 'large', content: 'x'.repeat(most) }] }),
  'one text of two bytes a character': (project) =>
    asked(project, { inputs: [{ path: 'large', content: 'é'.repeat(most / 2) }] }),
  'one text of escapes': (project) => asked(project, { inputs: [{ path: 'large', content: '\n'.repeat(most / 2) }] }),
  'one text of quotes': (project) => asked(project, { inputs: [{ path: 'large', content: '"'.repeat(most / 2) }] }),
  base64: (project) => asked(project, { inputs: [{ path: 'large', content_base64: 'QUJD'.repeat(most / 4) }] }),
  'a thousand inputs': (project) => {
    const inputs = Array.from({ length: 1000 }, (_, at) => ({ path: `many/${at}`, content: 'x'.repeat(most / 1100) }))
    return asked(project, { inputs })
  },
  'a long command': (project) => asked(project, { exec: { ...exec, command: 'x'.repeat(most) } }),
  'a long variable': (project) => asked(project, { exec: { ...exec, env: { A: '€'.repeat(most / 3) } } }),
  'many variables': (project) => asked(project, { exec: { ...exec, env: named(19_000, (at) => `k${at}`) } }),
  'a long path': (project) => asked(project, { inputs: [{ path: 'a/'.repeat(most / 2), content: '' }] }),
  'a long directory': (project) => asked(project, { exec: { ...exec, cwd: '../'.repeat(most / 3) } }),
  'a long image': (project) => asked(project, { image: 'a-'.repeat(most / 2) }),
  'unknown fields with long names': (project) =>
    asked(
      project,
      named(7500, (at) => `${'n'.repeat(4000)}${at}`),
    ),
  'a million names': () => JSON.stringify(named(1e6, (at) => `k${at}`)),
  'long names that look alike': () => JSON.stringify(named(1000, (at) => `${'n'.repeat(30_000)}${at}`)),
  'a long number': () => `{"exec":${'1'.repeat(most)}}`,
  brackets: () => `${'['.repeat(30)}${']'.repeat(30)} `.repeat(most / 61),
  space: () => ' '.repeat(most),
  'no JSON at its end': (project) =>
    asked(project, { inputs: [{ path: 'large', content: 'x'.repeat(most) }] }).slice(0, -1),
}

export const largeForms: readonly string[] = [...Object.keys(forms), 'a bomb']

const json = { 'content-type': 'application/json' }

export interface Large extends Asked {
  readonly raw: string | Uint8Array
}

export function largeBody(form: string, project: string): Large {
  const make = forms[form]
  if (make !== undefined) return { raw: make(project), headers: json }
  return {
    raw: gzipSync(Buffer.alloc(256 * mebibyte, ' '), { level: 9 }),
    headers: { ...json, 'content-encoding': 'gzip' },
  }
}
