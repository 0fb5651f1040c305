// A run's record must be out of the reach of its own guest, also where the operator mounts the directory in which the run
// will lie: `/repo=.` with the runs in ./runs is how most people begin.
// SECURITY: who can write the log, the prompt or the config of a run decides what the run was. A read-only mount hides the
// run; a writable one is refused, since what can be renamed cannot be hidden by its name.
// test/e2e/run: "a mount that shows the place of the run does not show the run"
import { realpathSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { GloveboxError } from '../../errors/error.ts'
import { isErrno } from '../../paths/refusal.ts'
import { onTheWay } from '../../runs/place.ts'
import { resolveMounts } from '../mounts.ts'
import type { RunSandbox } from './request.ts'

export function keepFromGuest(directory: string, sandbox: RunSandbox): RunSandbox {
  const place = onTheWay(() => realPlace(directory))
  const showing = resolveMounts(sandbox.mounts ?? []).filter(({ hostPath }) => isBelow(place, hostPath))
  const writable = showing.find(({ mode }) => mode === 'rw')
  if (writable !== undefined) throw refuse(writable.guestPath)
  const hidden = showing
    .filter(({ mode }) => mode === 'ro')
    .map(({ guestPath, hostPath }) => join(guestPath, relative(hostPath, place)))
  if (hidden.length === 0) return sandbox
  const layer = { layer: 'settings', source: 'the run itself', values: { denyRead: hidden } } as const
  return { ...sandbox, layers: [...sandbox.layers, layer] }
}

const isBelow = (place: string, directory: string): boolean => `${place}/`.startsWith(`${directory}/`)

/** Where a directory will really lie that does not exist yet. */
function realPlace(path: string): string {
  try {
    return realpathSync(path)
  } catch (error) {
    if (!isErrno(error, 'ENOENT') || dirname(path) === path) throw error
    return join(realPlace(dirname(path)), basename(path))
  }
}

const refuse = (guestPath: string): GloveboxError =>
  new GloveboxError('INVALID_INPUT', `Cannot mount ${guestPath}: the guest could change the record of its own run`, {
    hint: `Mount it read-only (${guestPath}=…:ro), or let the run lie elsewhere with --sandbox.`,
  })
