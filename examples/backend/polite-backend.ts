// A backend of one's own in twenty lines: `local`, with every command at a low priority. It isolates no more than `local`
// does, and claims no more. In a project of yours the imports read 'glovebox' and 'glovebox/backends/local'.
import { openBackend as openLocal, type LocalOptions } from '../../src/backends/local/backend.ts'
import type { Backend, Boundary } from '../../src/index.ts'

const prefix = ['nice', '-n', '10'] as const
const polite = (inner: Boundary): Boundary => ({
  ...inner,
  spawn: (request) => inner.spawn({ ...request, argv: [...prefix, ...request.argv] }),
})

export async function openPoliteBackend(options: LocalOptions): Promise<Backend> {
  const local = await openLocal(options)
  return {
    ...local,
    name: 'polite',
    compile: (spec) => ({ ...local.compile(spec), backend: 'polite', argv: [...prefix, '…'] }),
    create: async (id, plan) => polite(await local.create(id, plan)),
    async discover(id) {
      const found = await local.discover(id)
      return found && polite(found)
    },
    list: async () => (await local.list()).map(({ id }) => ({ id, backend: 'polite' })),
  }
}
