// The client as others get it: from the package's own door, in a page as well as in Node.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createContext, Script } from 'node:vm'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openClientGround, type ClientGround } from './client-ground.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
let ground: ClientGround
let place: string

beforeAll(async () => {
  ground = await openClientGround()
  place = mkdtempSync(join(tmpdir(), 'glovebox-page-'))
  mkdirSync(join(place, 'node_modules'))
  symlinkSync(root, join(place, 'node_modules', 'glovebox'))
  writeFileSync(join(place, 'package.json'), '{"type":"module"}')
})
afterAll(async () => {
  await ground[Symbol.asyncDispose]()
  rmSync(place, { recursive: true, force: true })
})

const page = `import { Sandbox, connect, isGloveboxError } from 'glovebox/client'
export async function main(url, token) {
  const sandbox = await Sandbox.create({ url, token })
  try {
    let heard = ''
    const result = await sandbox.commands.run('cat; echo out; exit 4', {
      stdin: 'in ', onStdout: (chunk) => { heard += new TextDecoder().decode(chunk) },
    })
    await sandbox.files.write('a.bin', new Uint8Array([1, 2, 255]))
    const bytes = [...await sandbox.files.readBytes('a.bin')]
    const code = await sandbox.files.read('none').catch((error) => isGloveboxError(error) && error.code)
    const exec = await connect({ url, token }).execs.run({ exec: { kind: 'shell', command: 'exit 2' } })
    return { heard, stdout: result.stdout, exitCode: result.exitCode, bytes, code, exec: exec.exit_code }
  } finally {
    await sandbox.kill()
  }
}
`

/** What a page has; of Node there is nothing. */
const namesOfTheWeb =
  'fetch Headers Response ReadableStream TextDecoder TextEncoder AbortController AbortSignal URL URLSearchParams ' +
  'setTimeout clearTimeout crypto atob btoa performance Uint8Array'
const web = Object.fromEntries(
  namesOfTheWeb.split(' ').map((name) => [name, (globalThis as Record<string, unknown>)[name]]),
)

describe('glovebox/client', () => {
  it('is bundled for a page without a word of Node, and works with what a page has', async () => {
    writeFileSync(join(place, 'page.js'), page)
    const made = await rolldown({ cwd: place, input: 'page.js', platform: 'browser', logLevel: 'silent' })
    const { output } = await made.generate({ format: 'iife', name: 'page' })
    await made.close()
    const [{ code }] = output
    expect(output).toHaveLength(1)
    expect(code).not.toMatch(/\bnode:|\brequire\(/)
    expect(code.length).toBeLessThan(100_000)

    const context = createContext({ ...web })
    new Script(`${code}; globalThis.main = page.main`).runInContext(context)
    const main = context['main'] as (url: string, token: string) => Promise<unknown>
    expect(await main(ground.url, ground.token)).toEqual({
      heard: 'in out\n',
      stdout: 'in out\n',
      exitCode: 4,
      bytes: [1, 2, 255],
      code: 'NOT_FOUND',
      exec: 2,
    })
  })

  it("has types that a program without Node's can use", () => {
    const program = `import { Sandbox, connect, type ExecResult, type GloveboxError } from 'glovebox/client'
export async function use(url: string, token: string): Promise<ExecResult> {
  await using sandbox = await Sandbox.connect({ url, token, policy: { timeoutMs: 1000 } })
  for await (const event of connect({ url, token }).runs.events('r')) if (event.seq > 3) break
  const code: GloveboxError['code'] = 'NOT_FOUND'
  // @ts-expect-error there is no such code
  const wrong: GloveboxError['code'] = 'NO_SUCH_CODE'
  // @ts-expect-error a token is needed
  connect({ url })
  return sandbox.commands.run(code + wrong)
}
`
    writeFileSync(join(place, 'use.ts'), program)
    const options = {
      target: 'es2023',
      lib: ['es2023', 'esnext.disposable', 'dom', 'dom.iterable', 'dom.asynciterable'],
      module: 'esnext',
      moduleResolution: 'bundler',
      types: [],
      strict: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: false,
      noEmit: true,
    }
    writeFileSync(join(place, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files: ['use.ts'] }))
    const compiler = join(root, 'node_modules/typescript/bin/tsc')
    const said = (): string => {
      try {
        return execFileSync(process.execPath, [compiler, '-p', place], { encoding: 'utf8' })
      } catch (error) {
        return (error as { readonly stdout: string }).stdout
      }
    }
    expect(said()).toBe('')
  })

  it('is a door of the package, with its types beside it', () => {
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      readonly exports: Readonly<Record<string, { readonly types: string; readonly default: string }>>
    }
    const { types = '', default: code = '' } = manifest.exports['./client'] ?? {}
    expect(readFileSync(join(root, types), 'utf8')).toContain('export declare const Sandbox')
    expect(readFileSync(join(root, code), 'utf8')).toContain('export const Sandbox')
  })
})
