// What every provider promises, as sentences. They know it only by the contract; two openings of one place stand for two processes.
import assert from 'node:assert/strict'
import type { ExecResult } from '../contract/exec.ts'
import type { Provider, SandboxKey } from '../contract/provider.ts'
import type { Sandbox } from '../contract/sandbox.ts'
import { refused, succeeded } from './expect.ts'

export interface ProviderLimits {
  readonly replicas: number
  /** How long an acquire waits before it is refused. */
  readonly waitMs: number
}

export interface ProviderSubject {
  /** Opens the place once more, as another process would. Whatever is opened is shut down after the case. */
  open(limits?: Partial<ProviderLimits>): Promise<Provider>
  /** Ends what runs of a sandbox without the provider's knowing. Absent: nothing of one runs between commands. */
  readonly removeBehindTheBack?: (id: string) => Promise<void>
  /** A key that no other case has. */
  key(name?: string): SandboxKey
}

export interface ProviderCase {
  readonly title: string
  readonly needsRemoval?: true
  run(subject: ProviderSubject): Promise<void>
}

function held(provider: Provider, id: string): Sandbox {
  const sandbox = provider.get(id)
  assert.ok(sandbox, 'what was just acquired is not there')
  return sandbox
}

async function acquired(provider: Provider, key?: SandboxKey): Promise<Sandbox> {
  return held(provider, await provider.acquire(key))
}

/** When something of the command has certainly run. */
async function begun(sandbox: Sandbox, command: string): Promise<{ readonly result: Promise<ExecResult> }> {
  let result: Promise<ExecResult> | undefined
  await new Promise<void>((resolve, reject) => {
    result = sandbox.commands.run(`echo begun; ${command}`, { onStdout: () => resolve() })
    result.catch(reject)
  })
  assert.ok(result)
  return { result }
}

const mark = 'mark.txt'

export const providerCases: readonly ProviderCase[] = [
  {
    title: 'the same key gives the same sandbox, and sees its files',
    async run({ open, key }) {
      const mine = key()
      const [one, other] = [await open(), await open()]
      const first = await acquired(one, mine)
      await first.files.write(mark, 'from the first')
      assert.equal(succeeded(await first.commands.run(`cat ${mark}`)), 'from the first')
      assert.equal(await one.acquire(mine), first.id, 'while it is in use')
      await one.release(first.id)
      const elsewhere = await acquired(other, mine)
      assert.equal(elsewhere.id, first.id, 'from another process')
      assert.equal(succeeded(await elsewhere.commands.run(`cat ${mark}; echo more >> ${mark}`)), 'from the first')
      await other.release(first.id)
      const back = await acquired(one, mine)
      assert.equal(back.id, first.id)
      assert.equal(await back.files.read(mark), 'from the firstmore\n')
    },
  },
  {
    title: 'different keys give different sandboxes',
    async run({ open, key }) {
      const provider = await open({ replicas: 3 })
      const { user } = key()
      const keys: readonly SandboxKey[] = [
        { user: `${user}a`, thread: 'bc' },
        { user: `${user}ab`, thread: 'c' },
        { user: `${user}a`, thread: 'bc ' },
      ]
      const sandboxes = await Promise.all(keys.map((each) => acquired(provider, each)))
      assert.equal(new Set(sandboxes.map(({ id }) => id)).size, keys.length)
      for (const [index, sandbox] of sandboxes.entries()) await sandbox.files.write(mark, String(index))
      for (const [index, sandbox] of sandboxes.entries())
        assert.equal(succeeded(await sandbox.commands.run(`cat ${mark}`)), String(index))
      for (const { id } of sandboxes) await provider.destroy(id)
    },
  },
  {
    title: 'a key with an empty part is refused',
    async run({ open, key }) {
      const provider = await open()
      await refused('INVALID_INPUT', provider.acquire({ ...key(), thread: '' }))
      await refused('INVALID_INPUT', provider.acquire({ ...key(), user: '' }))
    },
  },
  {
    title: 'without a key every acquire gives a new sandbox',
    async run({ open }) {
      const provider = await open()
      const ids = [await provider.acquire(), await provider.acquire()]
      assert.notEqual(ids[0], ids[1])
      for (const id of ids) await provider.destroy(id)
    },
  },
  {
    title: 'acquiring at once under one key makes one sandbox',
    async run({ open, key }) {
      const provider = await open({ replicas: 1 })
      const mine = key()
      const ids = await Promise.all(Array.from({ length: 8 }, () => provider.acquire(mine)))
      assert.equal(new Set(ids).size, 1)
    },
  },
  {
    title: 'a sandbox that died while it was parked is replaced without an error',
    needsRemoval: true,
    async run({ open, key, removeBehindTheBack }) {
      const provider = await open()
      const mine = key()
      const first = await acquired(provider, mine)
      await first.files.write(mark, 'kept')
      assert.equal(succeeded(await first.commands.run(`cat ${mark}`)), 'kept')
      await provider.release(first.id)
      await removeBehindTheBack?.(first.id)
      const again = await acquired(provider, mine)
      assert.equal(again.id, first.id)
      assert.equal(succeeded(await again.commands.run(`cat ${mark}`)), 'kept')
    },
  },
  {
    title: 'get reads memory only, and knows nothing of an id that was not acquired here',
    async run({ open, key }) {
      const [one, other] = [await open(), await open()]
      const id = await one.acquire(key())
      assert.equal(held(one, id).id, id)
      assert.equal(other.get(id), undefined)
      assert.equal(one.get('sbx_0000000000000000'), undefined)
      assert.equal(one.get(''), undefined)
      await one.release(id)
      assert.equal(one.get(id), undefined, 'what was released is nobody’s')
    },
  },
  {
    title: 'a sandbox that was released is taken back as it was',
    async run({ open, key }) {
      const provider = await open()
      const mine = key()
      const first = await acquired(provider, mine)
      const before = first.describe()
      succeeded(await first.commands.run('echo kept > "$HOME/of-home" && echo kept > here'))
      await provider.release(first.id)
      const again = await acquired(provider, mine)
      assert.deepEqual(again.describe(), before)
      assert.equal(succeeded(await again.commands.run('cat "$HOME/of-home" here')), 'kept\nkept\n')
    },
  },
  {
    title: 'whoever kept hold of a sandbox that was released is refused',
    async run({ open, key }) {
      const provider = await open()
      const sandbox = await acquired(provider, key())
      await provider.release(sandbox.id)
      await refused(['SANDBOX_GONE', 'LEASE_LOST'], sandbox.commands.run('true'))
      await refused(['SANDBOX_GONE', 'LEASE_LOST'], sandbox.files.write(mark, 'too late'))
    },
  },
  {
    title: 'releasing twice, or what is not there, is no error',
    async run({ open, key }) {
      const provider = await open()
      const id = await provider.acquire(key())
      await provider.release(id)
      await provider.release(id)
      await provider.release('sbx_0000000000000000')
    },
  },
  {
    title: 'a sandbox is parked when its command has ended, and not before',
    async run({ open, key }) {
      const [one, other] = [await open(), await open({ waitMs: 50 })]
      const mine = key()
      const sandbox = await acquired(one, mine)
      const running = await begun(sandbox, 'sleep 4; echo done')
      await one.release(sandbox.id)
      await refused('BUSY', other.acquire(mine))
      assert.equal(succeeded(await running.result), 'begun\ndone\n')
      assert.equal(await other.acquire(mine, { waitMs: 20_000 }), sandbox.id)
    },
  },
  {
    title: 'destroy is idempotent, and the next acquire of its key begins anew',
    async run({ open, key }) {
      const provider = await open()
      const mine = key()
      const first = await acquired(provider, mine)
      await first.files.write(mark, 'gone')
      await provider.destroy(first.id)
      await provider.destroy(first.id)
      await refused(['SANDBOX_GONE', 'LEASE_LOST'], first.commands.run('true'))
      const anew = await acquired(provider, mine)
      assert.equal(anew.id, first.id)
      assert.equal(await anew.files.exists(mark), false)
    },
  },
  {
    title: 'a sandbox that another process uses is refused, and given when it is released there',
    async run({ open, key }) {
      const [one, other] = [await open(), await open({ waitMs: 50 })]
      const mine = key()
      const id = await one.acquire(mine)
      await refused('BUSY', other.acquire(mine))
      await refused('BUSY', other.destroy(id))
      await one.release(id)
      assert.equal(await other.acquire(mine), id)
      await refused('BUSY', one.acquire(mine, { waitMs: 50 }))
    },
  },
  {
    title: 'where every place is in use the answer is no, and when to ask again',
    async run({ open, key }) {
      const provider = await open({ replicas: 1, waitMs: 50 })
      const used = await acquired(provider, key('used'))
      const no = await refused('CAPACITY_EXCEEDED', provider.acquire(key('more')))
      assert.equal(no.kind.retryable, true)
      assert.equal(typeof no.facts['retryAfterSeconds'], 'number')
      succeeded(await used.commands.run('true'))
    },
  },
  {
    title: 'the parked sandbox that was not used for longest makes room, and keeps its files',
    async run({ open, key }) {
      const provider = await open({ replicas: 2 })
      const old = await acquired(provider, key('old'))
      await old.files.write(mark, 'kept')
      await provider.release(old.id)
      const recent = await provider.acquire(key('recent'))
      await provider.acquire(key('third'))
      assert.notEqual(provider.get(recent), undefined, 'what is in use stays')
      await provider.release(recent)
      const back = await acquired(provider, key('old'))
      assert.equal(back.id, old.id)
      assert.equal(await back.files.read(mark), 'kept')
    },
  },
  {
    title: 'after a reset the same key finds its files again',
    async run({ open, key }) {
      const provider = await open()
      const mine = key()
      const first = await acquired(provider, mine)
      await first.files.write(mark, 'kept')
      await provider.reset()
      assert.equal(provider.get(first.id), undefined)
      const again = await acquired(provider, mine)
      assert.equal(again.id, first.id)
      assert.equal(succeeded(await again.commands.run(`cat ${mark}`)), 'kept')
    },
  },
  {
    title: 'after shutdown every acquire is refused with DRAINING, and shutting down twice is shutting down once',
    async run({ open, key }) {
      const provider = await open()
      const mine = key()
      const first = await acquired(provider, mine)
      await first.files.write(mark, 'kept')
      await Promise.all([provider.shutdown(), provider.shutdown()])
      await refused('DRAINING', provider.acquire(mine))
      const next = await open()
      const again = await acquired(next, mine)
      assert.equal(again.id, first.id)
      assert.equal(await again.files.read(mark), 'kept')
    },
  },
]
