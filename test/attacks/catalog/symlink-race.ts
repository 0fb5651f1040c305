import type { AttackRow } from './row.ts'

export const symlinkRace: readonly AttackRow[] = [
  {
    area: 'symlink-race',
    title: 'no try leaks',
    defence: 'each component is opened relative to the one before, never by a checked path',
    seen: 'flatpak CVE-2024-42472, librefang #6299',
    bwrap: 'blocked',
    local: 'blocked',
    hostSide: 'the file actions walk on the host, by the same code for every backend',
  },
]
