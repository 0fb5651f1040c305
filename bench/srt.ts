// @anthropic-ai/sandbox-runtime, measured beside us with a policy of the same kind: one writable directory, no network.
import { spawn } from 'node:child_process'
import { SandboxManager } from '@anthropic-ai/sandbox-runtime'
import type { Contestant } from './interleave.ts'

/** Gives the reason where it cannot run here. */
export async function sandboxRuntime(
  workspace: string,
): Promise<{ readonly run: Contestant } | { readonly why: string }> {
  try {
    await SandboxManager.initialize({
      network: { allowedDomains: [], deniedDomains: [] },
      filesystem: { denyRead: [], allowWrite: [workspace], denyWrite: [] },
    })
    const run: Contestant = async () => {
      const command = await SandboxManager.wrapWithSandbox('true')
      await new Promise<void>((resolve, reject) => {
        const child = spawn(command, { shell: true, cwd: workspace, stdio: ['ignore', 'pipe', 'pipe'] })
        let said = ''
        child.stdout.resume()
        child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')))
        child.once('error', reject)
        child.once('close', (code) =>
          code === 0 ? resolve() : reject(new Error(`ended with ${code}: ${said.trim()}`)),
        )
      })
    }
    await run()
    return { run }
  } catch (error) {
    return { why: error instanceof Error ? error.message : String(error) }
  }
}
