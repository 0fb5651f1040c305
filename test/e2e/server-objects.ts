// One object of each kind in one project, and a request for every operation of the document that names them: what the identity
// matrix is laid over. An operation that has no request here is found by a test, so a new route cannot be forgotten.
import type { Operation } from '../fixtures/server-contract.ts'
import type { Asked, ServerGround } from './server-ground.ts'

export interface Objects {
  readonly project: string
  readonly sandboxId: string
  readonly commandId: string
  readonly shellId: string
  /** Its program has ended. */
  readonly terminalId: string
  readonly runId: string
  readonly tokenId: string
  readonly snapshotId: string
  readonly execId: string
}

export async function makeObjects(ground: ServerGround, project: string): Promise<Objects> {
  const { call } = ground
  const sandboxId = String((await call('POST', '/sandboxes', { body: { project } })).at('id'))
  const body = { command: 'echo made', background: true }
  const commandId = String((await call('POST', `/sandboxes/${sandboxId}/commands`, { body })).at('execId'))
  const shells = `/sandboxes/${sandboxId}/shells`
  const shellId = String((await call('POST', shells, { body: {} })).at('id'))
  await call('POST', `${shells}/${shellId}/commands`, { body })
  await call('GET', `${shells}/${shellId}/wait?wait_ms=20000`)
  const terminalId = String((await call('POST', shells, { body: { pty: true, argv: ['true'] } })).at('id'))
  await call('GET', `${shells}/${terminalId}/end?wait_ms=20000`)
  await call('PUT', `/sandboxes/${sandboxId}/files?path=/workspace/own.txt`, { raw: 'own' })
  const other = String((await call('POST', '/sandboxes', { body: { project } })).at('id'))
  const snapshotId = String((await call('POST', `/sandboxes/${other}/snapshots`, { body: {} })).at('id'))
  const run = { project, prompt: 'Do it.', command: ['sh', '-c', 'echo made > /deliverables/made.txt'], review: true }
  const runId = String((await call('POST', '/runs', { body: run })).at('run_id'))
  const token = await call('POST', '/tokens', { body: { name: 'of the project', scopes: ['read'], project } })
  const exec = { project_id: project, exec: { kind: 'shell', command: 'echo made' } }
  const execId = String((await call('POST', '/sandbox/execs', { body: exec })).at('exec_id'))
  await waitForRun(ground, runId, 'review_required')
  return {
    project,
    sandboxId,
    commandId,
    shellId,
    terminalId,
    runId,
    tokenId: String(token.at('id')),
    snapshotId,
    execId,
  }
}

export async function waitForRun({ call }: ServerGround, runId: string, status: string): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    if ((await call('GET', `/runs/${runId}`)).at('record.status') === status) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`the run did not become ${status}`)
}

export interface Sample extends Asked {
  readonly method: string
  readonly path: string
}

/** Where a project can be named, it is the objects' own. */
export function sampleOf({ id, method, path }: Operation, objects: Objects): Sample | undefined {
  if (!(id in asked)) return undefined
  const { query = '', ...rest } = asked[id]?.(objects) ?? {}
  return { method, path: `${filled(path, objects)}${query}`, ...rest }
}

/** The same word means another thing below /sandboxes and below /sandbox. */
function filled(path: string, objects: Objects): string {
  const execId = path.startsWith('/sandboxes/') ? objects.commandId : objects.execId
  const isOfTerminal = /\/(?:events|screen|end|input|resize|tickets)$/.test(path) && !path.includes('{number}')
  const artifact = path.startsWith('/runs/') ? 'deliverables/made.txt' : 'stdout.txt'
  return path
    .replace('{sandbox_id}', objects.sandboxId)
    .replace('{exec_id}', execId)
    .replace('{shell_id}', isOfTerminal ? objects.terminalId : objects.shellId)
    .replace('{number}', '1')
    .replace('{run_id}', objects.runId)
    .replace('{token_id}', objects.tokenId)
    .replace('{snapshot_id}', objects.snapshotId)
    .replace('{path}', artifact)
}

type Ask = (objects: Objects) => Asked & { readonly query?: string }

const plain: Ask = () => ({})
const file = '?path=/workspace/own.txt'

const asked: Readonly<Record<string, Ask>> = {
  getHealthz: plain,
  getReadyz: plain,
  getDocs: plain,
  getMetrics: plain,
  getPool: plain,
  getOpenapiJson: plain,
  getSandboxes: ({ project }) => ({ query: `?project=${project}` }),
  postSandboxes: ({ project }) => ({ body: { project } }),
  getSandboxesSandboxId: plain,
  deleteSandboxesSandboxId: plain,
  getSandboxesSandboxIdUsage: plain,
  getSandboxesSandboxIdCatalog: plain,
  postSandboxesSandboxIdProvision: () => ({ body: {} }),
  postSandboxesSandboxIdRelease: plain,
  postSandboxesSandboxIdRenew: () => ({ body: { lifeMs: 600_000 } }),
  postSandboxesSandboxIdPause: plain,
  postSandboxesSandboxIdResume: plain,
  postSandboxesSandboxIdFork: () => ({ body: {} }),
  postSandboxesSandboxIdSnapshots: () => ({ body: {} }),
  getSnapshots: ({ project }) => ({ query: `?project=${project}` }),
  getSnapshotsSnapshotId: plain,
  deleteSnapshotsSnapshotId: plain,
  postSandboxesSandboxIdExecute: () => ({ body: { action: 'stat', input: { path: 'own.txt' } } }),
  postSandboxesSandboxIdCommands: () => ({ body: { command: ['true'] } }),
  getSandboxesSandboxIdCommandsExecId: plain,
  deleteSandboxesSandboxIdCommandsExecId: plain,
  getSandboxesSandboxIdCommandsExecIdEvents: plain,
  getSandboxesSandboxIdShells: plain,
  postSandboxesSandboxIdShells: () => ({ body: { pty: true, argv: ['true'] } }),
  getSandboxesSandboxIdShellsShellId: plain,
  deleteSandboxesSandboxIdShellsShellId: plain,
  postSandboxesSandboxIdShellsShellIdCommands: () => ({ body: { command: 'true' } }),
  getSandboxesSandboxIdShellsShellIdCommandsNumber: plain,
  deleteSandboxesSandboxIdShellsShellIdCommandsNumber: plain,
  getSandboxesSandboxIdShellsShellIdCommandsNumberEvents: plain,
  getSandboxesSandboxIdShellsShellIdWait: plain,
  getSandboxesSandboxIdShellsShellIdEvents: plain,
  getSandboxesSandboxIdShellsShellIdEnd: plain,
  getSandboxesSandboxIdShellsShellIdScreen: plain,
  postSandboxesSandboxIdShellsShellIdInput: () => ({ body: { text: 'x' } }),
  postSandboxesSandboxIdShellsShellIdResize: () => ({ body: { cols: 80, rows: 24 } }),
  postSandboxesSandboxIdShellsShellIdTickets: plain,
  getSandboxesSandboxIdFiles: () => ({ query: file }),
  putSandboxesSandboxIdFiles: () => ({ query: file, raw: 'other' }),
  deleteSandboxesSandboxIdFiles: () => ({ query: file }),
  getSandboxesSandboxIdFilesStat: () => ({ query: file }),
  getSandboxesSandboxIdFilesList: plain,
  getRuns: ({ project }) => ({ query: `?project=${project}` }),
  postRuns: ({ project }) => ({ body: { project, prompt: 'Do it.', command: ['true'] } }),
  getRunsRunId: plain,
  getRunsRunIdEvents: plain,
  getRunsRunIdArtifacts: plain,
  getRunsRunIdArtifactsPath: plain,
  postRunsRunIdCancel: () => ({ body: {} }),
  postRunsRunIdAnswer: () => ({ body: { text: 'yes' } }),
  postRunsRunIdApprove: () => ({ body: {} }),
  postRunsRunIdRevise: () => ({ body: { message: 'again' } }),
  getTokens: plain,
  postTokens: ({ project }) => ({ body: { name: 'more', scopes: ['read'], project } }),
  getTokensTokenId: plain,
  deleteTokensTokenId: plain,
  getSandboxExecs: ({ project }) => ({ query: `?project_id=${project}` }),
  postSandboxExecs: ({ project }) => ({ body: { project_id: project, exec: { kind: 'shell', command: 'true' } } }),
  getSandboxExecsExecId: plain,
  getSandboxExecsExecIdStream: plain,
  postSandboxExecsExecIdCancel: () => ({ body: {} }),
  getSandboxExecsExecIdStdout: plain,
  getSandboxExecsExecIdStderr: plain,
  getSandboxExecsExecIdArtifacts: plain,
  getSandboxExecsExecIdArtifactsPath: plain,
  getSandboxHealth: plain,
}
