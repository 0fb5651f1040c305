// What a child said and how it ended.
import type { ChildProcess } from 'node:child_process'

export interface Finished {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export function finished(child: ChildProcess): Promise<Finished> {
  const said = { stdout: '', stderr: '' }
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (said.stdout += text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (said.stderr += text))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code, signal, ...said }))
  })
}

/** The last line that a host program printed: its result, as JSON. */
export async function resultOf<Value>(child: ChildProcess): Promise<Value> {
  const { code, signal, stdout, stderr } = await finished(child)
  const line = stdout.trimEnd().split('\n').at(-1) ?? ''
  if (code !== 0 || line === '') throw new Error(`the host ended with ${code ?? signal}: ${stderr}`)
  return JSON.parse(line) as Value
}
