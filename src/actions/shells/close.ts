import { z } from 'zod'
import { defineAction } from '../define.ts'
import { shellIdField } from './schemas.ts'

export const closePersistentShell = defineAction({
  name: 'close_persistent_shell',
  summary: 'Close a shell: ends what runs in it, its background jobs too.',
  input: z.strictObject({ shellId: shellIdField }),
  output: z.strictObject({ shellId: z.string(), closed: z.literal(true) }),
  effect: 'execute',
  async perform({ shells }, { shellId }) {
    await (await shells.get(shellId)).close()
    return { shellId, closed: true as const }
  },
})
