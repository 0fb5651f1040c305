// Can commands be run on this host at all? Whether they should be is for the operator, who has to ask by name.
import { existsSync } from 'node:fs'
import type { Probe } from '../../contract/backend.ts'
import type { HostTraits } from './capabilities.ts'

const warning = 'isolates nothing: commands run on the bare host with the rights of the operator; for development only'

export const probeTraits = (): HostTraits => ({ processTable: existsSync('/proc/self/stat') })

export const probeShell = (): string => (existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh')

export function probeHost(platform: NodeJS.Platform, traits: HostTraits): Probe {
  if (platform === 'win32') {
    return {
      available: false,
      reason: 'local needs a POSIX host',
      fix: 'Run Glovebox inside WSL.',
    }
  }
  return {
    available: true,
    reason: warning,
    notes: [
      'runs only when it is asked for by name',
      'virtual paths inside files, inside standard input, or in another spelling (percent-encoded, JSON-escaped) are not rewritten',
      ...(traits.processTable ? [] : ['no process table: only the process group of a command can be ended']),
    ],
  }
}
