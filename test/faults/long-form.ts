// Files of this suite in their long form (`../fixtures/cases.ts`), for campaigns.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The exit code. */
export function runLongForm(names: readonly string[]): number {
  const files = names.map((name) => `test/faults/${name}.test.ts`)
  const words = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'faults', ...files]
  const env = { ...process.env, CI: '1', GLOVEBOX_LONG_FORM: '1' }
  return spawnSync(process.execPath, words, { cwd: root, stdio: 'inherit', env }).status ?? 1
}
