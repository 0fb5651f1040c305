// A boundary that is used only while the lease on its member holds. Commands, shells, searches and file actions all go through a
// boundary, so this is the one place where a process that slept too long finds out, before it touches what has become another's.
import type { Boundary, Process, SpawnRequest } from '../../contract/backend.ts'
import type { FileAccess } from '../../contract/files.ts'
import type { Tenure } from '../../pool/ports.ts'

export function guardBoundary(boundary: Boundary, tenure: Pick<Tenure, 'begin'>): Boundary {
  const { files } = boundary
  const within = async <Value>(work: () => Promise<Value>): Promise<Value> => {
    const begun = tenure.begin()
    try {
      return await work()
    } finally {
      begun.end()
    }
  }
  const guarded: FileAccess = {
    stat: (...asked) => within(() => files.stat(...asked)),
    list: (...asked) => within(() => files.list(...asked)),
    read: (...asked) => within(() => files.read(...asked)),
    write: (...asked) => within(() => files.write(...asked)),
    append: (...asked) => within(() => files.append(...asked)),
    update: (...asked) => within(() => files.update(...asked)),
    mkdir: (...asked) => within(() => files.mkdir(...asked)),
    remove: (...asked) => within(() => files.remove(...asked)),
    rename: (...asked) => within(() => files.rename(...asked)),
  }
  const { id, shell, searchProgram } = boundary
  const spawn: Boundary['spawn'] = (request) => spawnWithin(boundary, tenure, request)
  return { ...boundary, id, shell, searchProgram, files: guarded, spawn }
}

/** The work lasts as long as the process, and the process no longer than the lease. */
async function spawnWithin(boundary: Boundary, tenure: Pick<Tenure, 'begin'>, request: SpawnRequest): Promise<Process> {
  const work = tenure.begin()
  let process: Process
  try {
    process = await boundary.spawn(request)
  } catch (error) {
    work.end()
    throw error
  }
  work.whenLost(() => process.kill())
  if (work.isLost) process.kill()
  void process.exit.finally(() => work.end())
  return process
}
