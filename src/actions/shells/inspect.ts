import { z } from 'zod'
import type { ShellInfo } from '../../contract/shell.ts'
import { defineAction } from '../define.ts'
import { endedSchema } from '../schemas.ts'
import { shellIdField, stateSchema } from './schemas.ts'

const count = z.int().nonnegative()

const shellSchema = z.strictObject({
  shellId: z.string(),
  kind: z.enum(['commands', 'terminal']),
  status: z.enum(['idle', 'busy', 'closed']),
  openedAt: z.string(),
  cwd: z.string().describe('Where it was opened.'),
  commands: count.describe('How many have ended.'),
  queued: count.describe('How many wait behind the current one.'),
  current: z.strictObject({ number: count, command: z.string(), elapsedMs: z.number() }).optional(),
  last: z
    .strictObject({ number: count, command: z.string(), ended: endedSchema, exitCode: z.int(), state: stateSchema })
    .optional(),
  size: z.strictObject({ cols: count, rows: count }).optional().describe('Of a terminal.'),
})

export const inspectPersistentShell = defineAction({
  name: 'inspect_persistent_shell',
  summary:
    'Tell whether a shell is busy, with which command, and how the last one ended; or tell so of all open shells.',
  input: z.strictObject({ shellId: shellIdField.optional().describe('Default: all that are open.') }),
  output: z.strictObject({ shells: z.array(shellSchema) }),
  effect: 'read',
  async perform({ shells }, { shellId }) {
    const infos = shellId === undefined ? await shells.list() : [await (await shells.get(shellId)).inspect()]
    return { shells: infos.map(toldOf) }
  },
})

const toldOf = ({ id, ...rest }: ShellInfo): z.infer<typeof shellSchema> => ({ shellId: id, ...rest })
