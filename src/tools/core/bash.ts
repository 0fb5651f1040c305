import { z } from 'zod'
import type { RunShell } from '../bash.ts'
import { executes, type ToolRecipe } from '../tool.ts'

const input = z.strictObject({
  command: z.string().min(1).describe('The command line to run.'),
  timeout_ms: z.int().positive().optional().describe('How long it may take. The policy has a ceiling.'),
  cwd: z.string().min(1).max(4096).optional().describe('The directory to run in.'),
})

export const bash = (run: RunShell): ToolRecipe<typeof input> => ({
  name: 'bash',
  description:
    'Run a command line in a fresh shell inside the sandbox; variables and directory do not carry over. Tells exit ' +
    'code, stdout and stderr. Output over 20,000 characters is cut in the middle; the cut says where the whole is.',
  input,
  annotations: executes,
  answer: (execute, { command, cwd, timeout_ms: timeoutMs }) => run(execute, { command, cwd, timeoutMs }),
})
