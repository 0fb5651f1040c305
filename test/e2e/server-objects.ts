// One object of each kind in one project, and a request for every operation of the document that names them: what the identity
// matrix is laid over. An operation that has no request here is found by a test, so a new route cannot be forgotten.
import type { Operation } from './server-contract.ts'
import type { Asked, ServerGround } from './server-ground.ts'

export interface Objects {
  readonly project: string
  readonly sandboxId: string
  readonly commandId: string
  readonly runId: string
  readonly tokenId: string
  readonly execId: string
}

export async function makeObjects(ground: ServerGround, project: string): Promise<Objects> {
  const { call } = ground
  const sandboxId = String((await call('POST', '/sandboxes', { body: { project } })).at('id'))
  const body = { command: 'echo made', background: true }
  const commandId = String((await call('POST', `/sandboxes/${sandboxId}/commands`, { body })).at('execId'))
  await call('PUT', `/sandboxes/${sandboxId}/files?path=/workspace/own.txt`, { raw: 'own' })
  const run = { project, prompt: 'Do it.', command: ['sh', '-c', 'echo made > /deliverables/made.txt'], review: true }
  const runId = String((await call('POST', '/runs', { body: run })).at('run_id'))
  const token = await call('POST', '/tokens', { body: { name: 'of the project', scopes: ['read'], project } })
  const exec = { project_id: project, exec: { kind: 'shell', command: 'echo made' } }
  const execId = String((await call('POST', '/sandbox/execs', { body: exec })).at('exec_id'))
  await waitForRun(ground, runId, 'review_required')
  return { project, sandboxId, commandId, runId, tokenId: String(token.at('id')), execId }
}

export async function waitForRun({ call }: ServerGround, runId: string, status: string): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
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
  const artifact = path.startsWith('/runs/') ? 'deliverables/made.txt' : 'stdout.txt'
  return path
    .replace('{sandbox_id}', objects.sandboxId)
    .replace('{exec_id}', execId)
    .replace('{run_id}', objects.runId)
    .replace('{token_id}', objects.tokenId)
    .replace('{path}', artifact)
}

type Ask = (objects: Objects) => Asked & { readonly query?: string }

const plain: Ask = () => ({})
const file = '?path=/workspace/own.txt'

const asked: Readonly<Record<string, Ask>> = {
  getHealthz: plain,
  getReadyz: plain,
  getMetrics: plain,
  getOpenapiJson: plain,
  getSandboxes: ({ project }) => ({ query: `?project=${project}` }),
  postSandboxes: ({ project }) => ({ body: { project } }),
  getSandboxesSandboxId: plain,
  deleteSandboxesSandboxId: plain,
  postSandboxesSandboxIdExecute: () => ({ body: { action: 'stat', input: { path: 'own.txt' } } }),
  postSandboxesSandboxIdCommands: () => ({ body: { command: ['true'] } }),
  getSandboxesSandboxIdCommandsExecId: plain,
  deleteSandboxesSandboxIdCommandsExecId: plain,
  getSandboxesSandboxIdCommandsExecIdEvents: plain,
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
