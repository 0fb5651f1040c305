// Where an exec's files lie. What the guest may write is one directory below what the server writes: the guest sees
// `files/` as its `/workspace/artifacts` and nothing above it, so it can neither replace a record nor put a link in its place.
//
//   projects/<project_id>/inputs/                 the guest reads
//   projects/<project_id>/work/                   the guest writes
//   projects/<project_id>/artifacts/<exec_id>/    the server writes: stdout.txt stderr.txt manifest.json meta.json
//   projects/<project_id>/artifacts/<exec_id>/files/    the guest writes
//   running/<sandbox_id>/                         what a command says that goes on without its server, and its HOME, until its end is recorded
import { chmodSync, chownSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { RecordName } from '../contract/exec-record.ts'
import type { HostPath } from '../contract/mount.ts'
import { directoryMode } from '../paths/directories.ts'
import { isErrno } from '../paths/refusal.ts'
import { putStandIns, type StandIn } from './stand-ins.ts'

export const guestInputs = '/workspace/inputs'
export const guestWork = '/workspace/work'
export const guestArtifacts = '/workspace/artifacts'

export interface ExecMount {
  readonly guest_path: string
  readonly host_path: string
  readonly mode: 'ro' | 'rw'
}

export interface Guest {
  readonly uid: number
  readonly gid: number
}

/** Both are checked ids: letters, digits, dot, underscore and dash. */
export interface ExecName {
  readonly project_id: string
  readonly exec_id: string
}

/** Relative to the workspace's root. */
export const artifactsPath = ({ project_id, exec_id }: ExecName): string =>
  `projects/${project_id}/artifacts/${exec_id}`

export const recordPath = (name: ExecName, file: RecordName): string => `${artifactsPath(name)}/${file}`

export const recordPlace = (root: string, name: ExecName, file: RecordName): HostPath =>
  join(root, recordPath(name, file)) as HostPath

export const execPlace = (root: string, name: ExecName): HostPath => join(root, artifactsPath(name)) as HostPath

export const filesPlace = (root: string, name: ExecName): HostPath => join(execPlace(root, name), 'files') as HostPath

export const inputsPlace = (root: string, project: string): HostPath =>
  join(root, 'projects', project, 'inputs') as HostPath

/** Beside what they write: every server of this workspace must find them again. */
export const runningPlace = (root: string): HostPath => join(root, 'running') as HostPath

const workPlace = (root: string, project: string): HostPath => join(root, 'projects', project, 'work') as HostPath

/** Nothing else of the host's is ever mounted but the HOME that is made for the exec, and the pipes of its output. */
export const mountsOf = (root: string, name: ExecName): readonly ExecMount[] => [
  { guest_path: guestInputs, host_path: inputsPlace(root, name.project_id), mode: 'ro' },
  { guest_path: guestWork, host_path: workPlace(root, name.project_id), mode: 'rw' },
  { guest_path: guestArtifacts, host_path: filesPlace(root, name), mode: 'rw' },
]

/** What the guest's own directories are made with. */
export interface Making {
  readonly guest: Guest | undefined
  readonly standIns: readonly StandIn[]
}

export function makeProject(root: string, project: string, making: Making): void {
  const own = join(root, 'projects', project)
  for (const place of [join(root, 'projects'), own, join(own, 'artifacts')]) make(place)
  makeVisible(inputsPlace(root, project))
  makeForGuest(workPlace(root, project), making)
}

/** The exec's own directory must not be there yet. */
export function makeExecPlace(root: string, name: ExecName, making: Making): void {
  mkdirSync(execPlace(root, name), { mode: 0o755 })
  makeForGuest(filesPlace(root, name), making)
}

/** For the record of an end: somebody may have removed the exec's directory, and all above it. Whether that was so. */
export function remakeExecPlace(root: string, name: ExecName): boolean {
  const files = filesPlace(root, name)
  if (existsSync(files)) return false
  const own = join(root, 'projects', name.project_id)
  for (const place of [join(root, 'projects'), own, join(own, 'artifacts'), execPlace(root, name), files]) make(place)
  return true
}

/** Whether it is new. The operator's umask is for the operator's files; the guest must be able to use these. */
function makeVisible(place: HostPath): boolean {
  const isNew = make(place)
  if (isNew) chmodSync(place, directoryMode)
  return isNew
}

/** Its parent is the server's, so nobody can put something else under the name in between. */
function makeForGuest(place: HostPath, { guest, standIns }: Making): void {
  const isNew = makeVisible(place)
  putStandIns(place, standIns)
  if (isNew && guest !== undefined) chownSync(place, guest.uid, guest.gid)
}

/** Whether it is new. One at a time: of a disk that is read-only, Node's recursive call says that the directory is missing. */
function make(place: string): boolean {
  if (existsSync(place)) return false
  try {
    mkdirSync(place, { mode: directoryMode })
    return true
  } catch (error) {
    // Somebody else was quicker.
    if (isErrno(error, 'EEXIST')) return false
    throw error
  }
}
