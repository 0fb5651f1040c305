// The built package as the hosts of one test file run it: one readable copy for all of them, which ends with the file.
import { chmodSync, copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { copyPackage } from '../fixtures/package-copy.ts'

// vitest gives each test file a process of its own, and ends it without an `exit` event.
const place = mkdtempSync(join(tmpdir(), 'glovebox-attacked-'))
afterAll(() => rmSync(place, { recursive: true, force: true }))

export function attackedPackage(): string {
  const program = 'host-process.mjs'
  if (existsSync(join(place, program))) return place
  copyPackage(place)
  copyFileSync(join(import.meta.dirname, program), join(place, program))
  chmodSync(place, 0o755)
  return place
}
