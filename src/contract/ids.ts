// Identifiers are prefixed, sortable by time of making, and safe as file names.
import { v7 } from 'uuid'

export type SandboxId = `sbx_${string}`
export type ExecId = `exec_${string}`
export type ShellId = `sh_${string}`

const compact = (): string => v7().replaceAll('-', '')

export const newSandboxId = (): SandboxId => `sbx_${compact()}`
export const newExecId = (): ExecId => `exec_${compact()}`
export const newShellId = (): ShellId => `sh_${compact()}`

export const isSandboxId = (text: string): text is SandboxId => /^sbx_[0-9a-z]{8,64}$/.test(text)
