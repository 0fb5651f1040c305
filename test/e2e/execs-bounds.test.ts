// What one exec may take of the server: the length of its command, of a list with it, and of its outputs.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ExecArtifacts, ExecRecord } from '../../src/contract/exec-record.ts'
import { bytesOf, readEvents, shell, startExecServer, type ExecServer } from '../fixtures/exec-server.ts'

const longestWord = 128 * 1024 - 1
const longest = 256 * 1024

let server: ExecServer
beforeAll(async () => {
  server = await startExecServer()
})
afterAll(() => server.remove())

/** So many bytes: in as many characters, or in a third of them. */
const fillings = [
  {
    characters: 'characters of one byte',
    project: 'short-characters',
    filled: (script: string, bytes: number): string => `${script}${'x'.repeat(bytes - script.length)}`,
  },
  {
    characters: 'characters of three bytes',
    project: 'long-characters',
    filled(script: string, bytes: number): string {
      const room = bytes - script.length
      return `${script}${'x'.repeat(room % 3)}${'€'.repeat(Math.floor(room / 3))}`
    },
  },
] as const

describe('the command of an exec', () => {
  it.each(fillings)(
    'runs at its greatest length in $characters, and one that is longer is refused before anything is kept of it',
    async ({ project, filled }) => {
      const script = filled('echo $#; exit $(($# == 2 ? 0 : 1)) # ', longestWord)
      const most = [filled('', longestWord), 'y'.repeat(longest - 2 * longestWord)]
      const exec = await server.exec({ project_id: project, exec: { kind: 'shell', command: script, args: most } })
      expect([exec.status, exec.args]).toEqual(['SUCCEEDED', ['-lc', script, 'bash', ...most]])
      for (const longer of [
        { command: filled('true # ', longestWord + 1) },
        { command: script, args: [...most, 'x'] },
      ]) {
        const refused = await server.ask('POST', '/sandbox/execs', {
          body: { project_id: `${project}-refused`, exec: { kind: 'shell', ...longer } },
        })
        expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('INVALID_INPUT')])
      }
      const made = readdirSync(join(server.workspace, 'projects'))
      expect([made.includes(project), made.includes(`${project}-refused`)]).toEqual([true, false])
      expect((await server.ask('GET', `/sandbox/execs?project_id=${project}-refused`)).json).toMatchObject({
        items: [],
      })
    },
  )

  it('makes the pages shorter on which it is listed, and none is left out', async () => {
    // What JSON writes with six characters each.
    const args = ['\u0001'.repeat(65_536), '\u0001'.repeat(65_536), '\u0001'.repeat(65_536)]
    const body = { project_id: 'listed', exec: { kind: 'shell', command: 'true', args } }
    const execs: ExecRecord[] = []
    for (let index = 0; index < 9; index++) execs.push(await server.exec(body))
    const pages: string[][] = []
    for (let cursor = ''; cursor !== undefined;) {
      const { text, json } = await server.ask('GET', `/sandbox/execs?project_id=listed&limit=100${cursor}`)
      expect(text.length).toBeLessThan(8 * 1024 * 1024)
      const { items, next_cursor } = json as { items: ExecRecord[]; next_cursor: string | null }
      pages.push(items.map(({ exec_id }) => exec_id))
      if (next_cursor === null) break
      cursor = `&cursor=${next_cursor}`
    }
    expect(pages.length).toBeGreaterThan(1)
    expect(pages.flat()).toEqual(execs.map(({ exec_id }) => exec_id).toReversed())
  })
})

describe('an output of an exec', () => {
  const euros = Buffer.from('€'.repeat(4))

  it.each([
    ['one byte shorter than its limit', 13, false],
    ['as long as its limit', 12, false],
    ['one byte longer than its limit', 11, true],
    ['longer than a limit between characters', 9, true],
    ['longer than a limit within a character', 10, true],
  ])('%s is kept up to the limit, and told to be cut only if it is', async (_, limit, isCut) => {
    const kept = euros.subarray(0, limit)
    const exec = await server.exec({
      // One at once, the other in two halves of a character.
      ...shell(`printf '€€€€'; { printf '€€€\\342\\202'; sleep 0.2; printf '\\254'; } >&2; exit 3`),
      policy_overrides: { max_stdout_bytes: limit, max_stderr_bytes: limit },
    })
    expect(exec).toMatchObject({ exit_code: 3, stdout_truncated: isCut, stderr_truncated: isCut })
    const events = await readEvents(await server.fetch(`/sandbox/execs/${exec.exec_id}/stream`))
    for (const name of ['stdout', 'stderr'] as const) {
      const whole = await server.fetch(`/sandbox/execs/${exec.exec_id}/${name}`)
      expect(Buffer.from(await whole.arrayBuffer())).toEqual(kept)
      expect(bytesOf(events, name)).toEqual(kept)
      // Part of a character is no text.
      const encodings = events.filter(({ event }) => event === name).map(({ data }) => data['encoding'])
      expect(encodings).toEqual([limit === 10 || limit === 11 ? 'base64' : 'utf8'])
    }
  })
})

describe('what an exec leaves', () => {
  it('is listed whole, however much it is, and as the manifest has it', async () => {
    const script = 'for number in range(5000): open(f"/workspace/artifacts/{number}", "w").close()'
    const exec = await server.exec({ project_id: 'many', exec: { kind: 'python', command: script } })
    const path = `/sandbox/execs/${exec.exec_id}/artifacts`
    const manifest = JSON.parse((await server.ask('GET', `${path}/manifest.json`)).text) as Pick<
      ExecArtifacts,
      'entries'
    >
    expect(manifest.entries).toHaveLength(5000)
    const listed = (await server.ask('GET', path)).json as ExecArtifacts
    expect(listed).toMatchObject({ exec_id: exec.exec_id, complete: true })
    const ofGuest = manifest.entries.map((entry) => ({ ...entry, by: 'guest' }))
    expect(listed.entries.filter(({ by }) => by === 'guest')).toEqual(ofGuest)
    const head = await server.fetch(path, { method: 'HEAD' })
    expect([head.status, head.headers.get('content-type'), await head.text()]).toEqual([200, 'application/json', ''])
  })

  it('is beyond the limit on artifacts where its paths are longer together than can be listed', async () => {
    // 128 levels are looked at, and 100,000 names: as paths, more than three gigabytes.
    const script = [
      'import os',
      'os.chdir("/workspace/artifacts")',
      'for _ in range(120):',
      '    os.mkdir("d" * 250); os.chdir("d" * 250)',
      'for number in range(20000):',
      '    open(str(number), "w").close()',
    ]
    const exec = await server.exec({ project_id: 'deep', exec: { kind: 'python', command: script.join('\n') } })
    expect(exec).toMatchObject({ status: 'FAILED', error_reason: 'artifacts_limit_exceeded' })
    const { text } = await server.ask('GET', `/sandbox/execs/${exec.exec_id}/artifacts/manifest.json`)
    expect(JSON.parse(text)).toMatchObject({ complete: false, over_limit: true, entries: [] })
    // The server is there, and takes the next one.
    expect((await server.exec(shell('true'))).status).toBe('SUCCEEDED')
  })
})
