// Hostile programs of test/attacks/probes as files that can be run: scripts as they are, C compiled on the host.
import { execFile } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll } from 'vitest'

const run = promisify(execFile)
const sources = join(import.meta.dirname, 'probes')

// One place per test file: vitest gives each file a process of its own, and the place ends with it.
const place = mkdtempSync(join(tmpdir(), 'glovebox-probes-'))
chmodSync(place, 0o755)
afterAll(() => rmSync(place, { recursive: true, force: true }))

/** The path of a program that every user may run. C is linked statically where that is possible. */
export async function probeFile(source: string): Promise<string> {
  const made = join(place, source.replace(/\.c$/, ''))
  if (existsSync(made)) return made
  const fresh = `${made}.fresh`
  if (source.endsWith('.c')) await compile(join(sources, source), fresh)
  else copyFileSync(join(sources, source), fresh)
  chmodSync(fresh, 0o755)
  renameSync(fresh, made)
  return made
}

async function compile(source: string, target: string): Promise<void> {
  const words = ['-O1', '-Wall', '-Werror', '-pthread', '-o', target, source]
  try {
    await run('gcc', ['-static', ...words])
  } catch {
    await run('gcc', words)
  }
}
