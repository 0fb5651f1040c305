// Names that no guest may make, put into its directories by the server before it comes: a boundary then finds them there and
// only has to hold them. Several servers may use one project's directory at a time, and none takes away what another needs.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isErrno } from '../paths/refusal.ts'

export interface StandIn {
  /** One name, without a slash. */
  readonly name: string
  readonly kind: 'file' | 'directory'
  readonly content?: string | undefined
}

/** Whatever has a name already stays. */
export function putStandIns(directory: string, standIns: readonly StandIn[]): void {
  for (const { name, kind, content = '' } of standIns) {
    try {
      if (kind === 'directory') mkdirSync(join(directory, name), { mode: 0o755 })
      else writeFileSync(join(directory, name), content, { flag: 'wx', mode: 0o644 })
    } catch (error) {
      if (!isErrno(error, 'EEXIST')) throw error
    }
  }
}

/** From the directory of an exec that has ended: what is left there is the guest's. */
export function takeStandIns(directory: string, standIns: readonly StandIn[]): void {
  for (const { name } of standIns) rmSync(join(directory, name), { recursive: true, force: true })
}
