// What running on the bare host can hold. It is little, and none of it is a wall.
import type { Capabilities, Capability } from '../../contract/capability.ts'

export interface HostTraits {
  /** Is there a process table in which left-over processes can be found? */
  readonly processTable: boolean
}

export function capabilitiesFor({ processTable }: HostTraits): Capabilities {
  return {
    'network.full': "the host's network",
    ...(processTable
      ? { 'process.tree': 'process group, session and environment marker; a program that sheds all three escapes' }
      : {}),
    'environment.isolated': 'an environment made anew for each command',
    timeout: 'SIGKILL to everything that the command started and that can be found',
    'output.bounded': 'truncated and drained',
  }
}

export const whyNot = (capability: Capability): string =>
  capability === 'process.tree'
    ? 'this host has no process table to search'
    : 'local isolates nothing: commands run on the bare host with the rights of the operator'
