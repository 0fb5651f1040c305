import { readFileSync } from 'node:fs'

/** Both `src/cli` and `dist/cli` lie two levels below the package. */
export function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  const { version } = JSON.parse(text) as { version: string }
  return version
}
