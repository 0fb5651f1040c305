// Every backend, opened as a sandbox on this host would open it. For those who examine backends rather than use one.
import { backendNames, openBackend } from '../backends/registry.ts'
import type { Backend, BackendName } from '../contract/backend.ts'
import { findSearchProgram } from './search-program.ts'
import { stateHome } from './state.ts'

export const listBackends = (): readonly BackendName[] => backendNames

export async function openBackendHere(name: BackendName): Promise<Backend> {
  return openBackend(name, { stateDir: stateHome(), searchProgram: findSearchProgram(), operatorEnv: process.env })
}
