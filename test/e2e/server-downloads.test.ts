// What is downloaded is one state of one file: of an artifact the one that was recorded, of a sandbox's file the one that was there when
// the answer began. Whoever changes it is the host, or the guest while somebody reads.
import {
  linkSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ExecArtifact, ExecManifest } from '../../src/contract/exec-record.ts'
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
async function download(path: string, meanwhile: () => Promise<void> | void): Promise<Downloaded> {
  const response = await ground.open('GET', path)
  return new Promise((resolve, reject) => {
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
}

/** How much the server reads, from wherever it is, until it has answered with the first byte of it. */
async function readFor(path: string): Promise<number> {
  const sofar = (): number =>
    Number(/rchar: (\d+)/.exec(readFileSync(`/proc/${ground.server.child.pid}/io`, 'utf8'))?.[1])
  const before = sofar()
  const answer = await ground.call('GET', path, { headers: { range: 'bytes=0-0' } })
  expect([answer.status, answer.text]).toEqual([206, 'a'])
  return sofar() - before
}

/** How many descriptors of it the server has. */
function opened(path: string): number {
  const place = `/proc/${ground.server.child.pid}/fd`
  const targets = readdirSync(place).map((name) => {
    try {
      return readlinkSync(`${place}/${name}`)
    } catch {
      return ''
    }
  })
  return targets.filter((target) => target === path).length
}

describe('an artifact of an exec', () => {
  it('an artifact that is fetched in parts is hashed once, until it is another one', async () => {
    const { artifacts, place } = await makeExec(fill('a', '/workspace/artifacts/large'))
    const path = `${artifacts}/large`
    expect(await readFor(path)).toBeGreaterThan(largeBytes)
    // What was written only now might be written once more, and look the same.
    await expect.poll(() => readFor(path)).toBeLessThan(largeBytes)
    let sum = 0
    for (let part = 0; part < 8; part++) sum += await readFor(path)
    expect(sum).toBeLessThan(largeBytes)
    writeFileSync(join(place, 'large'), 'b', { flag: 'r+' })
    expect(codeOf(await ground.call('GET', path, { headers: { range: 'bytes=0-0' } }))).toBe('ARTIFACT_CHANGED')
  })

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

  it('a file whose manifest cannot be read, or tells no hash of it, is refused and not served', async () => {
    const { artifacts, place } = await makeExec('cd /workspace/artifacts; echo one > kept; echo one > other')
    const manifest = join(place, '../manifest.json')
    const written = readFileSync(manifest, 'utf8')
    const told = JSON.parse(written) as ExecManifest
    const without = (change: Partial<ExecArtifact> | undefined): string => {
      const entries = told.entries.flatMap((each) =>
        each.path !== 'kept' ? [each] : change === undefined ? [] : [{ ...each, ...change }],
      )
      return `${JSON.stringify({ ...told, complete: false, entries }, null, 2)}\n`
    }
    const ask = (name: string, range = 'bytes=0-') => ground.call('GET', `${artifacts}/${name}`, { headers: { range } })
    // Nobody could tell that it is another one.
    writeFileSync(join(place, 'kept'), 'two\n')
    for (const [about, text, code] of [
      ['missing', undefined, 'RECORD_DAMAGED'],
      ['empty', '', 'RECORD_DAMAGED'],
      ['cut', written.slice(0, -3), 'RECORD_DAMAGED'],
      ['of zeros', '\0'.repeat(written.length), 'RECORD_DAMAGED'],
      ['of another exec', written.replace(told.exec_id, `${told.exec_id}0`), 'RECORD_DAMAGED'],
      ['in another form', JSON.stringify(told), 'ARTIFACT_CHANGED'],
      ['without it', without(undefined), 'ARTIFACT_CHANGED'],
      ['without its hash', without({ sha256: null, skipped: 'unreadable' }), 'ARTIFACT_CHANGED'],
    ] as const) {
      rmSync(manifest, { force: true })
      if (text !== undefined) writeFileSync(manifest, text)
      for (const range of ['bytes=0-', 'bytes=0-1']) {
        const answer = await ask('kept', range)
        expect([about, codeOf(answer)]).toEqual([about, code])
        expect(answer.text).not.toContain('two')
        expect(answer.at('error.hint')).toContain('Run the exec again')
      }
      const other = await ask('other')
      expect([about, other.status]).toEqual([about, code === 'RECORD_DAMAGED' ? 422 : 206])
      expect((await ground.call('GET', artifacts)).at('complete')).toBe(about === 'in another form')
      expect((await ask('none')).status).toBe(404)
    }
    expect(opened(join(place, 'kept'))).toBe(0)
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

  it('is closed again where its reader leaves before the answer begins', async () => {
    // Its hash takes a while, and nothing is answered before.
    const { artifacts, place } = await makeExec('truncate -s 48M /workspace/artifacts/large')
    const large = join(place, 'large')
    const socket = connect(ground.port, '127.0.0.1')
    socket.on('error', () => {})
    const lines = [`GET ${artifacts}/large HTTP/1.1`, `Host: 127.0.0.1:${ground.port}`]
    socket.write([...lines, `Authorization: Bearer ${ground.token}`, '', ''].join('\r\n'))
    await expect.poll(() => opened(large), { interval: 1 }).toBe(1)
    socket.resetAndDestroy()
    await expect.poll(() => opened(large)).toBe(0)
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

describe('a file of a run', () => {
  it('is read alone while the run is at work, whatever lies beside it', async () => {
    const work = `${fill('b', '/workspace/large')}; printf a > /deliverables/small; sleep 600`
    const body = { prompt: 'Do it.', command: ['sh', '-c', work] }
    const run = `/runs/${String((await ground.call('POST', '/runs', { body })).at('run_id'))}`
    const small = `${run}/artifacts/deliverables/small`
    await expect.poll(async () => (await ground.call('GET', small)).text).toBe('a')
    expect(await readFor(small)).toBeLessThan(largeBytes)
    const list = await ground.call('GET', `${run}/artifacts`)
    expect(list.at('recorded')).toBe(false)
    expect((await ground.call('POST', `${run}/cancel`)).at('status')).toBe('cancelled')
    const recorded = await ground.call('GET', small)
    expect([recorded.text, recorded.headers['etag']]).toEqual(['a', expect.stringMatching(/^"[0-9a-f]{64}"$/)])
  })

  it('is refused when the record of the run’s files cannot be read', async () => {
    const body = { prompt: 'Do it.', command: ['sh', '-c', 'printf a > /deliverables/small'] }
    const runId = String((await ground.call('POST', '/runs', { body })).at('run_id'))
    await expect.poll(async () => (await ground.call('GET', `/runs/${runId}`)).at('record.status')).toBe('completed')
    const small = `/runs/${runId}/artifacts/deliverables/small`
    expect((await ground.call('GET', small)).text).toBe('a')
    writeFileSync(join(ground.data, 'runs', 'default', runId, 'artifact-manifest.json'), '{')
    const refused = await ground.call('GET', small)
    expect([refused.status, codeOf(refused)]).toEqual([422, 'RECORD_DAMAGED'])
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
