// The shell command behind both toolsets. Output that is too long to show is kept in the agent's own cache
// directory, where `read_file` and commands find it; a small ring of files, so that it does not grow for ever.
import { randomBytes } from 'node:crypto'
import { posix } from 'node:path'
import type { Sandbox } from '../contract/sandbox.ts'
import { renderForAgent } from '../errors/render.ts'
import { cutOutput, endingLines, fits, joinedOutput, outputText } from './output.ts'
import { execResult, writeResult } from './results.ts'
import type { Execute, ToolAnswer } from './tool.ts'

export interface ShellRequest {
  readonly command: string
  readonly cwd?: string | undefined
  readonly timeoutMs?: number | undefined
}

export type RunShell = (execute: Execute, request: ShellRequest) => Promise<ToolAnswer>

const keptOutputs = 16

export function shellRunner(sandbox: Sandbox): RunShell {
  const ring = randomBytes(4).toString('hex')
  let written = 0
  return async (execute, request) => {
    const input = Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined))
    const result = await execute('run_shell', input, execResult)
    const body = joinedOutput(result)
    const ending = endingLines(result)
    if (fits(body, ending)) return { text: outputText(body, ending), structured: result }
    const name = `${ring}-${written++ % keptOutputs}.txt`
    const path = posix.join(sandbox.describe().cacheDir, 'glovebox', 'output', name)
    const kept = await keep(execute, path, body)
    return { text: cutOutput(body, ending, kept), structured: result }
  }
}

/** The command has run and its result must be told, whether or not the whole of it can be kept. */
async function keep(execute: Execute, path: string, text: string): Promise<string> {
  try {
    await execute('write_text', { path, text: wellFormed(text) }, writeResult)
    return `The whole is in ${path}`
  } catch (error) {
    return `The whole could not be kept (${renderForAgent(error).code}): run it again with less output`
  }
}

const wellFormed = (text: string): string => text.replaceAll(/\p{Surrogate}/gu, '\uFFFD')
