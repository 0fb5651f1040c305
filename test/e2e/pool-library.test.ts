// The provider as a program uses it: through the built package, with settings of its own, several of them at once.
import {
  closeSync,
  fstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Provider } from '../../src/contract/provider.ts'
import { startServer } from './server-ground.ts'

const { openProvider, getProvider, resetProvider, setProvider, shutdownProvider } = (await import(
  new URL('../../dist/index.js', import.meta.url).href
)) as typeof import('../../src/index.ts')

let place: string
let directory: string
const before = { ...process.env }
const opened: Provider[] = []

beforeEach(() => {
  place = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-provider-')))
  directory = join(place, 'project')
  const state = join(place, 'state')
  for (const path of [directory, state]) mkdirSync(path, { mode: 0o700 })
  process.env['GLOVEBOX_STATE_DIR'] = state
})
afterEach(async () => {
  await Promise.allSettled(opened.splice(0).map((provider) => provider.shutdown()))
  await shutdownProvider()
  process.env = { ...before }
  rmSync(place, { recursive: true, force: true })
})

const open = async (options: Parameters<typeof openProvider>[0] = {}): Promise<Provider> => {
  const provider = await openProvider({ directory, limits: { waitMs: 2500 }, ...options })
  opened.push(provider)
  return provider
}
const settings = (text: string, name = 'glovebox.yaml'): string => {
  const file = join(directory, name)
  writeFileSync(file, text, { mode: 0o600 })
  return file
}
const said = async (provider: Provider, id: string, command: string): Promise<string | undefined> =>
  (await provider.get(id)?.commands.run(command))?.stdout

describe('a provider', () => {
  it('gives the same sandbox for the same key, in another provider and after a shutdown', async () => {
    const key = { user: 'ada', thread: 't' }
    const one = await open()
    const id = await one.acquire(key)
    await said(one, id, 'echo kept > /workspace/note')
    await one.release(id)
    expect(one.get(id)).toBeUndefined()
    const other = await open()
    expect(await other.acquire(key)).toBe(id)
    expect(await said(other, id, 'cat /workspace/note')).toBe('kept\n')
    await expect(one.acquire(key)).rejects.toMatchObject({ code: 'BUSY' })
    await other.shutdown()
    await expect(other.acquire(key)).rejects.toMatchObject({ code: 'DRAINING' })
    expect(await one.acquire(key)).toBe(id)
    expect(await said(one, id, 'cat /workspace/note')).toBe('kept\n')
  })

  it('that is shut down twice is shut down once: descriptors that others have got since stay theirs', async () => {
    const provider = await open()
    await said(provider, await provider.acquire(), 'true')
    await provider.shutdown()
    const others = Array.from({ length: 32 }, () => openSync('/dev/null', 'r'))
    await provider.shutdown()
    for (const other of others) expect(() => fstatSync(other)).not.toThrow()
    for (const other of others) closeSync(other)
  })

  it('`await using` gives it back, and `kill` ends it with its files', async () => {
    const provider = await open()
    const id = await provider.acquire({ user: 'ada', thread: 'using' })
    {
      await using sandbox = provider.get(id)
      await sandbox?.files.write('note', 'kept')
    }
    expect(provider.get(id)).toBeUndefined()
    expect(await provider.acquire({ user: 'ada', thread: 'using' })).toBe(id)
    expect(await provider.get(id)?.files.read('note')).toBe('kept')
    await provider.get(id)?.kill()
    expect(await provider.acquire({ user: 'ada', thread: 'using' })).toBe(id)
    expect(await provider.get(id)?.files.exists('note')).toBe(false)
  })

  it('is as the settings say: layout, skills, mounts, environment and number', async () => {
    for (const name of ['skills', 'data']) {
      mkdirSync(join(directory, name))
      writeFileSync(join(directory, name, 'file'), name)
    }
    process.env['MY_KEY'] = 'from the operator'
    settings(
      'pool:\n  layout: thread\n  skills: ./skills\n  mounts: ["/data=./data:ro"]\n  replicas: 1\n' +
        '  environment: { KEY: $MY_KEY, PRICE: $$5 }\n',
    )
    const provider = await open()
    const id = await provider.acquire()
    expect(await said(provider, id, 'pwd; cat /mnt/skills/file /data/file; echo; echo "$KEY $PRICE"')).toBe(
      '/mnt/user-data/workspace\nskillsdata\nfrom the operator $5\n',
    )
    expect((await provider.get(id)?.commands.run('touch /mnt/skills/x'))?.exitCode).not.toBe(0)
    await expect(provider.acquire()).rejects.toMatchObject({ code: 'CAPACITY_EXCEEDED' })
    await provider.release(id)
    expect(await provider.acquire()).not.toBe(id)
  })

  it.each([
    ['pool: { environment: { KEY: $NOT_SET } }', /NOT_SET/],
    ['pool: { use: local }', /isolates nothing/],
    ['pool: { replicas: 0 }', /replicas/],
    ['pool: { idle: 5 }', /idle/],
  ])('%s is refused in words', async (text, words) => {
    settings(text)
    await expect(open()).rejects.toThrow(words)
  })

  it('of the operator’s own is loaded from settings that were named, and from no others', async () => {
    const mark = join(place, 'loaded')
    const code = `import { writeFileSync } from 'node:fs'\nwriteFileSync(${JSON.stringify(mark)}, 'yes')
const none = async () => {}
export const openMine = ({ replicas }) => ({ acquire: async () => 'sbx_mine' + replicas, get: none, release: none, destroy: none, reset: none, shutdown: none })\n`
    writeFileSync(join(directory, 'mine.mjs'), code)
    const file = settings('pool: { use: "./mine.mjs#openMine", replicas: 7 }')
    await expect(open()).rejects.toMatchObject({ code: 'INVALID_SETTINGS' })
    expect(() => readFileSync(mark)).toThrow()
    expect(await (await open({ settingsFile: file })).acquire()).toBe('sbx_mine7')
  })

  it('of a server keeps its sandboxes there', async () => {
    const server = await startServer()
    try {
      process.env['GLOVEBOX_TOKEN'] = server.token
      settings(`pool: { provisioner_url: "${server.url}" }`)
      const [one, other] = [await open(), await open()]
      const key = { user: 'ada', thread: 'far' }
      const id = await one.acquire(key)
      await said(one, id, 'echo far > /workspace/note')
      await one.release(id)
      expect(await other.acquire(key)).toBe(id)
      expect(await said(other, id, 'cat /workspace/note')).toBe('far\n')
      expect((await server.call('GET', `/sandboxes/${id}`)).at('state')).toBe('active')
      await other.destroy(id)
      expect((await server.call('GET', `/sandboxes/${id}`)).status).toBe(404)
    } finally {
      await server.stop()
    }
  })
})

describe('the one provider of a program', () => {
  it('is opened once, kept, reset and shut down', async () => {
    const [one, same] = await Promise.all([getProvider({ directory }), getProvider()])
    expect(one).toBe(same)
    const id = await one.acquire({ user: 'ada', thread: 'one' })
    await said(one, id, 'echo kept > /workspace/note')
    await resetProvider()
    expect(one.get(id)).toBeUndefined()
    expect(await one.acquire({ user: 'ada', thread: 'one' })).toBe(id)
    expect(await said(one, id, 'cat /workspace/note')).toBe('kept\n')
    await shutdownProvider()
    const next = await getProvider({ directory })
    expect(next).not.toBe(one)
    setProvider(one)
    expect(await getProvider()).toBe(one)
    await next.shutdown()
  })
})
