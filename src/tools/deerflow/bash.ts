import { z } from 'zod'
import type { RunShell } from '../bash.ts'
import { executes, type ToolRecipe } from '../tool.ts'
import { description } from './fields.ts'

const input = z.strictObject({ description, command: z.string().min(1).describe('The command line to run.') })

export const bash = (run: RunShell): ToolRecipe<typeof input> => ({
  name: 'bash',
  description:
    'Run a command line in a fresh shell inside the sandbox. Tells the exit code, stdout and stderr. Output over ' +
    '20,000 characters is cut in the middle; the cut says where the whole can be read.',
  input,
  annotations: executes,
  answer: (execute, { command }) => run(execute, { command }),
})
