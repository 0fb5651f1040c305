// A server that is killed while it cancels an exec of the queue, the next one on what is left, and one whose database was lost and made anew
// from the files.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import type { ExecMeta, ExecRecord } from '../../src/contract/exec-record.ts'
import type { ExecFailpointName } from '../../src/execs/failpoints.ts'
import { openStore } from '../../src/store/open.ts'
import { shell, startExecServer, type ExecServer } from '../fixtures/exec-server.ts'

const glovebox = fileURLToPath(new URL('../../bin/glovebox', import.meta.url))

export interface KilledAtCancel {
  /** The status, by row and by file, when the server had died. */
  readonly atDeath: { readonly row: string | undefined; readonly meta: string }
  /** What the next server says of it. */
  readonly next: ExecRecord
  /** What is said of it after all of the index was lost. */
  readonly reindexed: ExecRecord
  readonly faults: readonly string[]
}

export async function killedAtCancel(failpoint: ExecFailpointName): Promise<KilledAtCancel> {
  const settings = 'sandbox:\n  max_concurrent_execs: 1\n'
  const first = await startExecServer({ settings, env: { GLOVEBOX_FAILPOINTS: `${failpoint}=kill` } })
  const { place, workspace } = first
  let last = first
  try {
    const died = new Promise<void>((resolve) => first.child.once('exit', () => resolve()))
    const before = await first.begin(shell('while :; do sleep 1; done'))
    await first.until(before.exec_id, ({ status }) => status === 'RUNNING')
    const { exec_id, artifacts_dir } = await first.begin(shell('touch ran-all-the-same'))
    await first.ask('POST', `/sandbox/execs/${exec_id}/cancel`).catch(() => undefined)
    await died
    const atDeath = { row: await statusIn(place, exec_id), meta: metaIn(workspace, artifacts_dir).status }

    last = await startExecServer({ place })
    const next = await last.until(exec_id, ({ ended_at }) => ended_at !== null)
    const faults = [...(await faultsOf(last, next))]
    await last.stop()

    for (const name of readdirSync(join(place, 'state')))
      if (name.startsWith('glovebox.db')) rmSync(join(place, 'state', name), { recursive: true })
    const env = { ...process.env, GLOVEBOX_STATE_DIR: join(place, 'state') }
    execFileSync(process.execPath, [glovebox, 'reindex', '--data', join(place, 'data')], { cwd: place, env })
    // Tokens were in the database alone.
    rmSync(join(place, 'token'))
    last = await startExecServer({ place })
    const reindexed = await last.until(exec_id, ({ ended_at }) => ended_at !== null)
    faults.push(...(await faultsOf(last, reindexed)))
    await last.stop()
    return { atDeath, next, reindexed, faults }
  } finally {
    await last.remove()
  }
}

async function faultsOf(server: ExecServer, told: ExecRecord): Promise<readonly string[]> {
  // Whatever waited before this one has begun when it has ended.
  await server.exec(shell('true'))
  const {
    layout: _layout,
    image_asked: _asked,
    boundary_id: _id,
    mounts: _mounts,
    ...meta
  } = metaIn(server.workspace, told.artifacts_dir)
  const isSame = isDeepStrictEqual(meta, told)
  const hasRun = existsSync(join(server.workspace, 'projects/demo/work/ran-all-the-same'))
  return [...(isSame ? [] : ['meta.json does not say what the row says']), ...(hasRun ? ['it ran'] : [])]
}

const metaIn = (workspace: string, directory: string): ExecMeta =>
  JSON.parse(readFileSync(join(workspace, directory, 'meta.json'), 'utf8')) as ExecMeta

async function statusIn(place: string, execId: string): Promise<string | undefined> {
  const store = await openStore({ url: join(place, 'state', 'glovebox.db') })
  try {
    return (await store.execs.find(execId))?.status
  } finally {
    await store.close()
  }
}
