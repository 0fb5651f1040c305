// The client has the library's shape, and its truth: the same scenario gives the same through both, on the same backend.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Sandbox } from '../../src/contract/sandbox.ts'
import { builtInProtectedNames, findBuiltInProtection } from '../../src/policy/protect.ts'
import { client, library, openClientGround, type ClientGround } from './client-ground.ts'
import { commandScenarios, fileScenarios, refusalOf, told } from './client-scenarios.ts'

// A server's sandboxes have a workspace of the guest's own, in which no tool of the operator's works: what protects a project is given
// up there, but for Glovebox's own names. The library has a word for the same.
const settings = {
  unprotect: builtInProtectedNames.filter((name) => findBuiltInProtection(name)?.essential !== true),
}

let ground: ClientGround
let here: Sandbox
let there: Sandbox

beforeAll(async () => {
  ground = await openClientGround()
  here = await library.Sandbox.create({ backend: 'bwrap', settings })
  there = await client.Sandbox.create({ url: ground.url, token: ground.token, backend: 'bwrap' })
})
afterAll(async () => {
  await here.kill()
  await there.kill()
  await ground[Symbol.asyncDispose]()
})

describe.each([
  ['commands', commandScenarios],
  ['files', fileScenarios],
] as const)('%s through the client are as through the library', (_, scenarios) => {
  it.each(Object.entries(scenarios))('%s', async (_title, scenario) => {
    const [inLibrary, inClient] = [await scenario(here), await scenario(there)]
    expect(inClient).toEqual(inLibrary)
  })
})

describe('a sandbox of the client', () => {
  it('describes itself as the library does', () => {
    const shown = (sandbox: Sandbox) => {
      const { id: _, policy, ...rest } = sandbox.describe()
      // Who set it has another name here and there.
      return { ...rest, policy: policy.map((each) => (each.field === 'protect' ? { ...each, from: undefined } : each)) }
    }
    expect(there.describe().id).toBe(there.id)
    expect(shown(there)).toEqual(shown(here))
  })

  it('asks for a policy as the library does, and is refused above the ceiling', async () => {
    const asked = { policy: { timeoutMs: 500, memoryMb: 128, delete: false } } as const
    await using local = await library.Sandbox.create({ ...asked, settings })
    await using remote = await client.Sandbox.create({ ...server(), ...asked })
    const values = (sandbox: Sandbox) =>
      sandbox.describe().policy.map(({ field, value, ceiling }) => [field, value, ceiling])
    expect(values(remote)).toEqual(values(local))
    expect(told(await remote.commands.run('sleep 30'))).toEqual(told(await local.commands.run('sleep 30')))

    const much = { policy: { memoryMb: 1_000_000 } } as const
    const [refusedHere, refusedThere] = [
      await refusalOf(() => library.Sandbox.create(much)),
      await refusalOf(() => client.Sandbox.create({ ...server(), ...much })),
    ]
    const facts = { field: 'memoryMb', asked: 1_000_000, allowed: 4096 }
    expect(refusedHere).toMatchObject({ code: 'POLICY_ESCALATION', facts })
    expect(refusedThere).toMatchObject({ code: 'POLICY_ESCALATION', facts })
  })

  it('is gone after kill, for every call, however often it is killed', async () => {
    const gone = async (sandbox: Sandbox) => {
      await sandbox.kill()
      await sandbox.kill()
      return Promise.all(
        [
          () => sandbox.commands.run('true'),
          () => sandbox.files.read('a'),
          () => sandbox.files.exists('a'),
          () => sandbox.execute('stat', { path: '.' }),
        ].map(refusalOf),
      )
    }
    const local = await library.Sandbox.create()
    const remote = await client.Sandbox.create(server())
    expect(await gone(remote)).toEqual(await gone(local))
  })

  it('that somebody else killed is gone too, and never a file that is not there', async () => {
    const mine = await client.Sandbox.create(server())
    const same = await client.Sandbox.connect({ ...server(), id: mine.id })
    await mine.kill()
    for (const refused of [
      await refusalOf(() => same.files.exists('a')),
      await refusalOf(() => same.files.read('a')),
      await refusalOf(() => same.commands.run('true')),
    ])
      expect(refused).toMatchObject({ code: 'SANDBOX_GONE', name: 'GloveboxError' })
    await same.kill()
  })

  it('ends with `await using` where it was made, and is only let go of where it was found', async () => {
    let id: string
    {
      await using made = await client.Sandbox.connect(server())
      id = made.id
      {
        await using found = await client.Sandbox.connect({ ...server(), id })
        await found.files.write('a', 'x')
      }
      expect(await made.files.read('a')).toBe('x')
    }
    expect(await refusalOf(() => client.Sandbox.connect({ ...server(), id }))).toMatchObject({ code: 'NOT_FOUND' })
  })

  it('is listed, page by page, with its name and project', async () => {
    const glovebox = client.connect(server())
    const made = await Promise.all(
      [1, 2, 3].map((n) => glovebox.sandboxes.create({ name: `box ${n}`, project: 'listed' })),
    )
    const page = await glovebox.sandboxes.list({ limit: 2, project: 'listed' })
    expect(page.items).toHaveLength(2)
    expect(page.next_cursor).not.toBeNull()
    const seen = []
    for await (const each of glovebox.sandboxes.each({ project: 'listed' })) seen.push(each)
    expect(new Set(seen.map(({ id }) => id))).toEqual(new Set(made.map(({ id }) => id)))
    expect(new Set(seen.map(({ name }) => name))).toEqual(new Set(['box 1', 'box 2', 'box 3']))
    await Promise.all(made.map((each) => each.kill()))
  })

  it('is not to be had with a token that is not in force', async () => {
    const wrong = { url: ground.url, token: `gbx_${'A'.repeat(43)}` }
    const refused = await refusalOf(() => client.Sandbox.create(wrong))
    expect(refused).toMatchObject({ name: 'GloveboxError', code: 'UNAUTHENTICATED' })
    expect(JSON.stringify(refused)).not.toContain(wrong.token)
  })
})

const server = () => ({ url: ground.url, token: ground.token })
