// Arrows point down. What is not in this table is not imported, and what is has a reason that a sentence can tell.
import { describe, expect, it } from 'vitest'
import { importsOf, readSources } from './sources.ts'

interface Arrow {
  readonly from: string
  readonly to: string
  readonly why: string
}

const law = 'its types and words are the law that every room speaks'
const codes = 'there is one error class and one table of codes'

export const arrows: readonly Arrow[] = [
  { from: 'door', to: 'runtime', why: 'the library creates sandboxes through the one composition root' },
  { from: 'door', to: 'tools', why: 'the library offers the agent tools as they are' },
  { from: 'door', to: 'backends', why: 'a caller may open a backend by its name; the registry loads it lazily' },
  { from: 'door', to: 'contract', why: law },
  { from: 'door', to: 'errors', why: codes },

  { from: 'cli', to: 'runtime', why: 'a face turns arguments into calls of the runtime and holds no logic' },
  { from: 'cli', to: 'policy', why: '`explain` prints the policy with the same pure words that refusals use' },
  { from: 'cli', to: 'runs', why: 'a command that only reads a run has nothing to compose' },
  { from: 'cli', to: 'contract', why: law },
  { from: 'cli', to: 'errors', why: codes },

  {
    from: 'cli',
    to: 'client',
    why: 'with --server the work is done elsewhere, and the command line is one more caller',
  },
  { from: 'client', to: 'contract', why: law },
  { from: 'client', to: 'errors', why: codes },

  {
    from: 'cli',
    to: 'server',
    why: '`serve` puts what the runtime opened behind the HTTP face, loaded when it is called',
  },
  {
    from: 'server',
    to: 'runtime',
    why: 'a face turns requests into calls of what the runtime opened, and holds no logic',
  },
  { from: 'server', to: 'actions', why: 'the schemas of actions are what their routes take and answer' },
  { from: 'server', to: 'execs', why: 'the routes of execs are a face of that room, which the root hands them opened' },
  { from: 'server', to: 'contract', why: law },
  { from: 'server', to: 'errors', why: codes },

  { from: 'testing', to: 'runtime', why: 'the conformance suite proves sandboxes as their users get them' },
  { from: 'testing', to: 'tools', why: 'the tools are part of what every backend must carry' },
  { from: 'testing', to: 'process', why: 'a case that never ends is told by its own name' },
  { from: 'testing', to: 'contract', why: law },
  { from: 'testing', to: 'errors', why: codes },

  { from: 'runtime', to: 'actions', why: 'the root hands a sandbox its actions, loaded at the first use' },
  { from: 'runtime', to: 'backends', why: 'the root opens a backend by name; it sees the registry and no backend' },
  { from: 'runtime', to: 'paths', why: 'the root makes mounts and checks working directories' },
  { from: 'runtime', to: 'policy', why: 'the root resolves the layers before anything starts' },
  { from: 'runtime', to: 'process', why: 'the root follows a process to its result, and owns scratch directories' },
  { from: 'runtime', to: 'runs', why: 'the root makes run directories, and hands a run its sandbox and executor' },
  { from: 'runtime', to: 'execs', why: 'the root hands execs their store, their directories and their sandboxes' },
  { from: 'runtime', to: 'contract', why: law },
  { from: 'runtime', to: 'errors', why: codes },

  {
    from: 'runtime',
    to: 'catalog',
    why: 'the root tells the catalog what is asked of a sandbox, and where its files lie',
  },
  { from: 'catalog', to: 'contract', why: law },

  { from: 'runtime', to: 'client', why: 'a provider whose sandboxes a server keeps is one more caller of it' },
  { from: 'runtime', to: 'pool', why: 'the root hands the pool its members, its leases and its clock' },
  { from: 'pool', to: 'paths', why: 'leases on one host are files under a lock, and a dead holder is told as any is' },
  { from: 'pool', to: 'contract', why: law },
  { from: 'pool', to: 'errors', why: codes },

  { from: 'runtime', to: 'audit', why: 'the root opens the log of its state home, and hands it on' },
  { from: 'audit', to: 'paths', why: 'one lock between processes, and one way to tell a dead holder, serve all rooms' },
  { from: 'audit', to: 'contract', why: law },
  { from: 'audit', to: 'errors', why: codes },

  { from: 'runtime', to: 'store', why: 'the root opens the database, and hands it on' },
  {
    from: 'store',
    to: 'paths',
    why: 'of two that open a damaged file at once, one puts it aside: one lock serves all',
  },
  { from: 'store', to: 'contract', why: law },
  { from: 'store', to: 'errors', why: codes },

  { from: 'runtime', to: 'executors', why: 'the root chooses who does the work of a run, and loads only that one' },
  { from: 'runtime', to: 'tools', why: 'the root hands a model its tools, so that no executor knows them' },
  { from: 'executors', to: 'contract', why: law },
  { from: 'executors', to: 'errors', why: codes },

  {
    from: 'runtime',
    to: 'shells',
    why: 'the root hands a shell its boundary and its limits, when the first is opened',
  },
  { from: 'shells', to: 'process', why: 'what a command says is bounded, and its deadline kept, in one place for all' },
  { from: 'shells', to: 'contract', why: law },
  { from: 'shells', to: 'errors', why: codes },

  { from: 'actions', to: 'paths', why: 'a guest path is read and joined in one place only' },
  { from: 'actions', to: 'contract', why: law },
  { from: 'actions', to: 'errors', why: codes },

  { from: 'tools', to: 'contract', why: 'a tool knows a sandbox only by execute(name, input)' },
  { from: 'tools', to: 'errors', why: codes },

  {
    from: 'runtime',
    to: 'vaults',
    why: 'the root hands a command its secrets, and everything that is shown its redaction',
  },
  { from: 'vaults', to: 'process', why: 'a program of the operator prints a value, and there is one door to start it' },
  { from: 'vaults', to: 'contract', why: law },
  { from: 'vaults', to: 'errors', why: codes },

  { from: 'runs', to: 'paths', why: 'artifacts are reached by descriptor, and a run is locked as any path is' },
  {
    from: 'runs',
    to: 'process',
    why: 'the notes of overlayfs are attributes, and koffi has one door; so has a test that ends the process',
  },
  { from: 'runs', to: 'contract', why: law },
  { from: 'runs', to: 'errors', why: codes },

  {
    from: 'execs',
    to: 'paths',
    why: 'what a guest left is reached by descriptor, and a dead server told as any holder is',
  },
  { from: 'execs', to: 'contract', why: law },
  { from: 'execs', to: 'errors', why: codes },

  { from: 'backends', to: 'contract', why: law },
  { from: 'backends', to: 'errors', why: codes },
  ...['backends/bwrap', 'backends/docker', 'backends/local'].flatMap((from): readonly Arrow[] => [
    { from: 'backends', to: from, why: 'the registry names the backends, and loads each when it is asked for' },
    { from, to: 'paths', why: 'files of a mount are reached by descriptor, written once for all backends' },
    { from, to: 'policy', why: 'what a mechanism can hold is compared with policy in one place' },
    { from, to: 'process', why: 'it is the only door to child_process' },
    { from, to: 'contract', why: law },
    { from, to: 'errors', why: codes },
  ]),
  ...['backends/bwrap', 'backends/docker'].map((from): Arrow => ({
    from,
    to: 'guards',
    why: 'what is laid over a mount is the same for every boundary that is made of mounts',
  })),
  { from: 'guards', to: 'paths', why: 'names are reached by descriptor, and journals locked as any path is' },
  { from: 'guards', to: 'policy', why: 'which names are protected, and with what content, is policy' },
  { from: 'guards', to: 'process', why: 'a journal names the process that wrote it, so that a dead one is known' },
  { from: 'guards', to: 'contract', why: law },
  { from: 'guards', to: 'errors', why: codes },

  { from: 'paths', to: 'contract', why: law },
  { from: 'paths', to: 'errors', why: codes },
  { from: 'policy', to: 'contract', why: law },
  { from: 'policy', to: 'errors', why: codes },
  {
    from: 'process',
    to: 'paths',
    why: 'what a guest left in a scratch directory is removed by descriptor, as anywhere',
  },
  { from: 'process', to: 'contract', why: law },
  { from: 'process', to: 'errors', why: codes },
]

/** A backend is a room of its own; the registry above them is the room `backends`. */
function roomOf(path: string): string {
  const [, first = '', second = '', ...deeper] = path.split('/')
  if (second === '') return 'door'
  return first === 'backends' && deeper.length > 0 ? `backends/${second}` : first
}

const files = readSources('src').filter(({ isTest }) => !isTest)
const crossings = files.flatMap((file) =>
  importsOf(file)
    .filter(({ target }) => target.startsWith('src/') && roomOf(target) !== roomOf(file.path))
    .map(({ kind, target }) => ({ kind, from: roomOf(file.path), to: roomOf(target), path: file.path, target })),
)

function refusal({ from, to, path, target }: (typeof crossings)[number]): string {
  const allowed = arrows.filter((arrow) => arrow.from === from).map((arrow) => `${arrow.to} (${arrow.why})`)
  return `${path} imports ${target}: no arrow ${from} → ${to}. ${from} may import: ${allowed.join('; ') || 'nothing'}`
}

describe('arrows', () => {
  it('a room imports only what its arrows allow', () => {
    const forbidden = crossings.filter(
      ({ from, to }) => !arrows.some((arrow) => arrow.from === from && arrow.to === to),
    )
    expect(forbidden.map(refusal)).toEqual([])
  })

  it('no arrow is left over that nothing uses', () => {
    // What the lowest rooms may use need not be used by each of them.
    const inUse = (arrow: Arrow): boolean => crossings.some(({ from, to }) => from === arrow.from && to === arrow.to)
    expect(arrows.filter((arrow) => arrow.to !== 'errors' && !inUse(arrow))).toEqual([])
  })

  it('the arrows have no circle', () => {
    const above = (room: string, seen: readonly string[]): readonly string[] =>
      seen.includes(room)
        ? [[...seen, room].join(' → ')]
        : arrows.filter(({ from }) => from === room).flatMap(({ to }) => above(to, [...seen, room]))
    expect([...new Set(arrows.map(({ from }) => from))].flatMap((room) => above(room, []))).toEqual([])
  })

  it('no backend imports another backend, nor the registry, nor anything above', () => {
    const below = new Set(['guards', 'paths', 'policy', 'process', 'contract', 'errors'])
    const upward = crossings.filter(({ from, to }) => from.startsWith('backends/') && !below.has(to))
    expect(upward.map(({ path, target }) => `${path} imports ${target}`)).toEqual([])
  })

  it('only the registry names backends, and it loads them lazily', () => {
    const named = crossings.filter(({ from, to }) => to.startsWith('backends/') && !from.startsWith('backends/'))
    const wrong = [
      ...named.filter(({ path, kind }) => path !== 'src/backends/registry.ts' || kind !== 'dynamic'),
      ...crossings.filter(
        ({ path, kind, to }) => path === 'src/backends/registry.ts' && to.startsWith('backends/') && kind !== 'dynamic',
      ),
    ]
    expect(wrong.map(({ path, target, kind }) => `${path} imports ${target} (${kind})`)).toEqual([])
  })
})
