// The backend docker once for each image that execs ask for: what an image is, is asked of the daemon once. None is fetched.
import type { Backend } from '../../contract/backend.ts'
import { openBackendFor } from '../create.ts'
import type { Settings } from '../settings.ts'

export interface Images {
  open(image: string): Promise<Backend>
  close(): Promise<void>
}

const mostImages = 32

export function openImages(docker: Settings['docker']): Images {
  const opened = new Map<string, Promise<Backend>>()
  const closeOne = async (backend: Promise<Backend>): Promise<void> => (await backend.catch(() => undefined))?.close?.()
  return {
    async open(image) {
      const known = opened.get(image) ?? openBackendFor({ backend: 'docker', docker: { ...docker, image } })
      // Behind the others: what was not asked for the longest is forgotten first.
      opened.delete(image)
      opened.set(image, known)
      const backend = await known.catch((error: unknown) => {
        opened.delete(image)
        throw error
      })
      // One that is not there may come while the server runs.
      if (Object.keys(backend.capabilities).length === 0) opened.delete(image)
      const [oldest] = opened.keys()
      if (opened.size > mostImages && oldest !== undefined) opened.delete(oldest)
      return backend
    },
    async close() {
      await Promise.all([...opened.values()].map(closeOne))
    },
  }
}
