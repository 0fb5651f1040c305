// Identifiers are prefixed, of chance, and safe as file names. They tell nothing of the time: whatever has an order keeps its time
// beside its id.
import { chance } from './chance.ts'

export type SandboxId = `sbx_${string}`
export type ExecId = `exec_${string}`
export type ShellId = `sh_${string}`

export const newSandboxId = (): SandboxId => `sbx_${chance()}`
export const newExecId = (): ExecId => `exec_${chance()}`
export const newShellId = (): ShellId => `sh_${chance()}`

export const isSandboxId = (text: string): text is SandboxId => /^sbx_[0-9a-z]{8,64}$/.test(text)
