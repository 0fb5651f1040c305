// What is downloaded is one state of one file: of an artifact the one that was recorded, of a sandbox's file the one that was there when
// the answer began. Whoever changes it is the host, or the guest while somebody reads.
import { linkSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { codeOf, startServer, type ServerGround } from './server-ground.ts'

let ground: ServerGround

beforeAll(async () => {
  ground = await startServer()
})
afterAll(async () => {
  await ground.stop()
})

const largeBytes = 32 * 1024 * 1024
/** Larger than what the kernel keeps for a reader who takes nothing. */
const fill = (letter: string, path: string): string => `head -c ${largeBytes} /dev/zero | tr '\\0' ${letter} > ${path}`

interface Exec {
  readonly artifacts: string
  /** On the host. */
  readonly place: string
}

async function makeExec(command: string, query = ''): Promise<Exec> {
  const body = { project_id: 'demo', exec: { kind: 'shell', command } }
  const made = await ground.call('POST', `/sandbox/execs${query}`, { body })
  return {
    artifacts: `/sandbox/execs/${String(made.at('exec_id'))}/artifacts`,
    place: join(ground.data, 'workspace', String(made.at('artifacts_dir')), 'files'),
  }
}

interface Downloaded {
  /** Every byte that was promised has come. */
  readonly isWhole: boolean
  readonly letters: readonly string[]
  readonly size: number
}

/** Reads the beginning, and the rest when `meanwhile` is done. */
function download(path: string, meanwhile: () => Promise<void> | void): Promise<Downloaded> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${ground.token}` }
    const asked = request(`${ground.url}${path}`, { headers, agent: false }, (response) => {
      const letters = new Set<number>()
      let size = 0
      const end = (): void =>
        resolve({
          isWhole: response.complete && size === Number(response.headers['content-length']),
          letters: [...letters].map((byte) => String.fromCharCode(byte)),
          size,
        })
      response.on('error', () => {})
      response.on('close', end)
      response.on('data', (chunk: Buffer) => {
        if (size === 0) {
          response.pause()
          void Promise.resolve(meanwhile()).then(() => response.resume(), reject)
        }
        size += chunk.length
        for (let at = 0; at < chunk.length; at += 4096) letters.add(chunk[at] ?? 0)
        letters.add(chunk.at(-1) ?? 0)
      })
    })
    asked.on('error', reject)
    asked.end()
  })
}

describe('an artifact of an exec', () => {
  it('a file that was changed, replaced or added after the end of its exec is refused and not served', async () => {
    const names = ['written', 'replaced', 'link', 'kept']
    const { artifacts, place } = await makeExec(
      `cd /workspace/artifacts; for name in ${names.join(' ')}; do echo one > $name; done; ln -sf kept link`,
    )
    const at = (name: string): string => join(place, name)
    const { mtime } = statSync(at('replaced'))
    writeFileSync(at('written'), 'two\n')
    // As long, with the same time, under the same name.
    writeFileSync(at('other'), 'two\n')
    utimesSync(at('other'), mtime, mtime)
    renameSync(at('other'), at('replaced'))
    rmSync(at('link'))
    writeFileSync(at('link'), 'two\n')
    writeFileSync(at('added'), 'two\n')
    for (const name of ['written', 'replaced', 'link', 'added'])
      for (const headers of [{}, { range: 'bytes=0-1' }]) {
        const answer = await ground.call('GET', `${artifacts}/${name}`, { headers })
        expect([name, answer.status, codeOf(answer)]).toEqual([name, 409, 'ARTIFACT_CHANGED'])
        expect(answer.text).not.toContain('two')
      }
    const kept = await ground.call('GET', `${artifacts}/kept`)
    expect([kept.status, kept.text]).toEqual([200, 'one\n'])
    expect(kept.headers['etag']).toMatch(/^"[0-9a-f]{64}"$/)
  })

  it('a file with a second name is refused, while its exec runs and when it has ended', async () => {
    const ended = await makeExec('cd /workspace/artifacts; echo one > twice; echo one > once')
    linkSync(join(ended.place, 'twice'), join(ground.data, 'second-name'))
    const running = await makeExec(
      'cd /workspace/artifacts; echo one > twice; ln twice again; echo one > once; sleep 60',
      '?wait=false',
    )
    await expect.poll(async () => (await ground.call('GET', `${running.artifacts}/once`)).status).toBe(200)
    for (const { artifacts } of [ended, running]) {
      const answer = await ground.call('GET', `${artifacts}/twice`)
      expect([answer.status, codeOf(answer)]).toEqual([403, 'LINK_REFUSED'])
      expect((await ground.call('GET', `${artifacts}/once`)).text).toBe('one\n')
    }
    await ground.call('POST', running.artifacts.replace('/artifacts', '/cancel'))
  })

  it('an artifact that is written while it is read is cut', async () => {
    const { artifacts, place } = await makeExec(fill('a', '/workspace/artifacts/large'))
    const quiet = await download(`${artifacts}/large`, () => {})
    expect(quiet).toEqual({ isWhole: true, letters: ['a'], size: largeBytes })
    const written = await download(`${artifacts}/large`, () =>
      writeFileSync(join(place, 'large'), 'b'.repeat(largeBytes)),
    )
    expect([written.isWhole, written.letters]).toEqual([false, ['a']])
  })
})

describe('a file of a sandbox', () => {
  it('a file that is replaced while it is read is cut, and never a mixture', async () => {
    const id = String((await ground.call('POST', '/sandboxes', { body: {} })).at('id'))
    const run = async (command: string): Promise<void> => {
      const answer = await ground.call('POST', `/sandboxes/${id}/commands`, { body: { command } })
      expect([answer.status, answer.at('exitCode')]).toEqual([200, 0])
    }
    // As long, and with the same time: only the kernel tells them apart.
    await run(`cd /workspace; ${fill('a', 'large')}; ${fill('b', 'other')}; touch -r large other; ln -s large link`)
    const large = `/sandboxes/${id}/files?path=/workspace/large`
    const quiet = await download(large, () => {})
    expect(quiet).toEqual({ isWhole: true, letters: ['a'], size: largeBytes })
    const before = (await ground.call('HEAD', large)).headers['etag']
    // By a link it is the same.
    const cut = await download(`/sandboxes/${id}/files?path=/workspace/link`, () =>
      run('cd /workspace; mv other large'),
    )
    expect([cut.isWhole, cut.letters]).toEqual([false, ['a']])
    const after = await ground.call('GET', large, { headers: { range: 'bytes=0-0' } })
    expect([after.text, after.headers['etag'] === before]).toEqual(['b', false])
  })
})
