// Who am I, what may I do, what did I do, what is left of my budget: answered by an agent that reads only its catalog. And every file
// of the catalog fits the schema that is published for it, and tells nothing that the agent must not know.
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Catalog } from '../../src/contract/catalog.ts'
import type { Sandbox } from '../../src/contract/sandbox.ts'
import { isRequired } from '../conformance/required.ts'
import { catalogSchemaNames } from '../fixtures/published-schemas.ts'
import { agent, answersIn } from './catalog-agent.ts'
import { client, library } from './client-ground.ts'
import { codeOf, startServer, type ServerGround } from './server-ground.ts'

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, formats: { 'date-time': /^\d{4}-\d\d-\d\dT[\d:.]+Z$/ } })
const schemas = new Map(
  catalogSchemaNames.map((name) => {
    const path = new URL(`../../schemas/catalog/${name}.schema.json`, import.meta.url)
    const schema = JSON.parse(readFileSync(path, 'utf8')) as { readonly $id: string }
    return [schema.$id, ajv.compile(schema)] as const
  }),
)

/** Why a value does not fit the schema of that identity. */
function misfits(id: string, value: unknown): string {
  const fits = schemas.get(id)
  if (fits === undefined) throw new Error(`no schema is published as ${id}`)
  return fits(value) ? '' : ajv.errorsText(fits.errors)
}

const secret = 'vault-canary-7715-value'
const variable = 'variable-canary-2261-value'
/** Where sandboxes lie in the state directory, and what else must not be told. */
const hostSide = (place: string): readonly string[] => [secret, variable, place, 'host-side', '/sandboxes/', homedir()]

interface Index {
  readonly files: readonly { readonly path: string; readonly schema: string | null }[]
}

/** Every file of the catalog, as a command sees it. */
async function filesOf(
  sandbox: Sandbox,
): Promise<ReadonlyMap<string, { readonly text: string; readonly schema: string | null }>> {
  const place = String(sandbox.describe().catalog?.guestPath)
  const read = async (path: string): Promise<string> => (await sandbox.commands.run(['cat', `${place}/${path}`])).stdout
  const { files } = JSON.parse(await read('index.json')) as Index
  const texts = []
  for (const { path, schema } of files) texts.push([path, { text: await read(path), schema }] as const)
  return new Map(texts)
}

const backends = ['bwrap', 'local', 'docker'] as const

describe.each(backends)('the catalog on %s', (backend) => {
  let place = ''
  let sandbox: Sandbox | undefined
  let why = ''
  beforeAll(async () => {
    place = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-catalog-host-side-')))
    writeFileSync(join(place, 'token'), secret)
    const isHeld = backend !== 'local'
    try {
      sandbox = await library.Sandbox.create({
        backend,
        env: { CANARY: variable },
        // local keeps no secret from a command's neighbours, and takes none.
        ...(isHeld ? { vaults: { keys: { directory: place } }, settings: { secrets: ['keys/token'] } } : {}),
      })
    } catch (error) {
      // Only a daemon may be missing, and only where it is not demanded.
      if (backend !== 'docker' || isRequired('docker')) throw error
      why = error instanceof Error ? error.message : String(error)
    }
  })
  afterAll(async () => {
    await sandbox?.kill()
    rmSync(place, { recursive: true, force: true })
  })

  it('answers an agent that reads nothing else, keeps its schemas, and tells no secret', async (context) => {
    if (sandbox === undefined) return context.skip(why)
    const { run } = sandbox.commands
    await run('echo one')
    await run('exit 3')
    await run('sleep 5', { timeoutMs: 150 })
    await expect(sandbox.files.read('/workspace/none')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await run('echo "$CANARY" >/dev/null; true')
    if (backend !== 'local') {
      const used = await run('echo "it is $token"', { secrets: ['keys/token'] })
      expect([used.exitCode, used.stdout.includes(secret)]).toEqual([0, false])
    }
    await run('echo the last word')

    const told = await run(agent)
    expect(told.stderr).toBe('')
    const answers = answersIn(told.stdout)
    const names = [...answers].map(([question, answer]) => `${question}: ${answer}`)
    const isHeld = backend !== 'local'
    expect(answers.get('who')).toBe(`${sandbox.id} ${backend} ${isHeld} /workspace`)
    expect(answers.get('network')).toBe('none')
    expect(answers.get('write')).toBe('/workspace')
    expect(answers.get('delete')).toBe('false')
    expect(answers.get('actions')).toMatch(/^\d\d 1$/)
    expect(answers.get('variables')).toContain('CANARY')
    expect(answers.get('secrets')).toBe(isHeld ? 'keys/token' : '')
    expect(answers.get('did')).toBe(`${isHeld ? 4 : 3} 1 1 1`)
    expect(answers.get('last')).toBe('"about":"echo the last word" the last word')
    expect(answers.get('used')).toBe(isHeld ? '6' : '5')
    expect(answers.get('timeout')).toBe('60000 of 300000')
    expect(answers.get('memory')).toBe('1024')
    expect(answers.get('life'), names.join('\n')).toBe('null')

    const files = await filesOf(sandbox)
    for (const [path, { text, schema }] of files) {
      for (const canary of hostSide(place)) expect([path, text.includes(canary)]).toEqual([path, false])
      if (schema === null) continue
      const values = path.endsWith('.jsonl') ? text.trimEnd().split('\n') : [text]
      for (const value of values) expect([path, misfits(schema, JSON.parse(value))]).toEqual([path, ''])
    }
    const whole = await sandbox.catalog()
    expect(misfits('urn:glovebox:catalog:1:catalog', whole)).toBe('')
    const text = JSON.stringify(whole)
    for (const canary of hostSide(place)) expect(text.includes(canary)).toBe(false)
    if (isHeld)
      expect(whole.vaults.vaults).toMatchObject([{ name: 'keys', secrets: [{ name: 'token', granted: true }] }])
  })
})

describe('the catalog of a sandbox with shells', () => {
  it('tells which are open, what they do, and what was done in them', async () => {
    await using sandbox = await library.Sandbox.create({ backend: 'bwrap' })
    const shell = await sandbox.shells.open()
    await shell.exec('cd /tmp')
    const said = await shell.exec('cat /workspace/.glovebox/now/history.jsonl')
    expect(JSON.parse(said.stdout)).toMatchObject({ about: 'cd /tmp', shellId: shell.id, exitCode: 0 })
    const long = 'until [ -e /workspace/enough ]; do sleep 0.05; done; exit 4'
    const { result } = await shell.start(long)
    const during = await sandbox.catalog()
    expect(during.shells.shells).toMatchObject([{ id: shell.id, status: 'busy', current: { number: 3 } }])
    expect(during.outcome).toMatchObject({ state: 'working', running: [{ about: long }] })
    await sandbox.files.write('/workspace/enough', '')
    await result
    await shell.close()
    const after = await sandbox.catalog()
    expect([after.shells.shells, after.outcome.state, after.outcome.last?.exitCode]).toEqual([[], 'idle', 4])
    expect(after.events.map(({ type }) => type).slice(-2)).toEqual(['ended', 'shell_closed'])
    for (const one of [during, after]) expect(misfits('urn:glovebox:catalog:1:catalog', one)).toBe('')
  })
})

describe('the catalog on a server', () => {
  let ground: ServerGround
  beforeAll(async () => {
    ground = await startServer()
  })
  afterAll(async () => {
    await ground.stop()
  })

  it('is served as one document, and tells agent and caller the same end', async () => {
    const made = await ground.call('POST', '/sandboxes', { body: { lifeMs: 600_000 } })
    const path = `/sandboxes/${String(made.at('id'))}`
    expect(made.at('description.catalog')).toEqual({ guestPath: '/workspace/.glovebox', version: 1 })
    await ground.call('POST', `${path}/commands`, { body: { command: 'echo before' } })
    const asked = await ground.call('POST', `${path}/commands`, { body: { command: agent } })
    const answers = answersIn(String(asked.at('stdout')))
    const answer = await ground.call('GET', `${path}/catalog`)
    const catalog = JSON.parse(answer.text) as Catalog
    expect([answer.status, misfits('urn:glovebox:catalog:1:catalog', catalog)]).toEqual([200, ''])
    expect(catalog.session.sandboxId).toBe(made.at('id'))
    expect(catalog.history.map(({ about }) => about)).toEqual(['echo before', agent.slice(0, 499) + '…'])
    const life = catalog.budget.left.find(({ what }) => what === 'lifetime')
    expect(life).toMatchObject({ limit: 600_000, endsAt: made.at('expiresAt') })
    for (const left of [Number(answers.get('life')), Number(life?.left)]) {
      expect(left).toBeGreaterThan(500_000)
      expect(left).toBeLessThanOrEqual(600_000)
    }
    expect(answer.text).not.toMatch(/glovebox-server-|\/state\//)
    const { sandboxes } = client.connect({ url: ground.url, token: ground.token })
    const remote = await sandboxes.connect(String(made.at('id')))
    expect((await remote.catalog()).session).toEqual(catalog.session)
    expect((await ground.call('DELETE', path)).status).toBe(204)
    expect(codeOf(await ground.call('GET', `${path}/catalog`))).toBe('NOT_FOUND')
  })
})
