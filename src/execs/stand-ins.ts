// Names that no guest may make, put into its directories by the server before it comes: a boundary then finds them there and
// only has to hold them. Several servers may use one project's directory at a time, and none takes away what another needs.
import { closeSync, fchmodSync, mkdirSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findInside, inside, openRoot, type Opened } from '../paths/descriptor.ts'
import { directoryMode, settle } from '../paths/directories.ts'
import { openUp, openUpAt } from '../paths/owner.ts'
import { isErrno } from '../paths/refusal.ts'
import { removeTreeAtOnce } from '../paths/remove-tree.ts'
import { newFileMode } from '../paths/replace.ts'

export interface StandIn {
  /** One name, without a slash. */
  readonly name: string
  readonly kind: 'file' | 'directory'
  readonly content?: string | undefined
}

/** Whatever has a name already stays. The directory may be one that a guest has had, and closed; and another may be at work in it. */
export function putStandIns(directory: string, standIns: readonly StandIn[]): void {
  const top = openRoot(directory)
  try {
    openUp(top)
    for (const standIn of standIns) put(top, standIn)
  } finally {
    closeSync(top.fd)
  }
}

function put(top: Opened, { name, kind, content = '' }: StandIn): void {
  try {
    if (kind === 'directory') makeDirectory(top, name)
    else makeFile(top, name, content)
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
  }
}

function makeDirectory(top: Opened, name: string): void {
  mkdirSync(inside(top.fd, name), directoryMode)
  const made = findInside(top.fd, name)
  if (made === undefined) return
  try {
    settle(made, undefined)
  } finally {
    closeSync(made.fd)
  }
}

function makeFile(top: Opened, name: string, content: string): void {
  const fd = openSync(inside(top.fd, name), 'wx', newFileMode)
  try {
    writeFileSync(fd, content)
    fchmodSync(fd, newFileMode)
  } finally {
    closeSync(fd)
  }
}

/** From the directory of an exec that has ended: what is left there is the guest's. */
export function takeStandIns(directory: string, standIns: readonly StandIn[]): void {
  openUpAt(directory)
  for (const { name } of standIns) removeTreeAtOnce(join(directory, name))
}
