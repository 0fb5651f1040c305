import { describe, expect, it } from 'vitest'
import type { Boundary, Process, SandboxSpec, SpawnRequest } from '../../contract/backend.ts'
import type { GuestPath, HostPath } from '../../contract/mount.ts'
import { resolvePolicy } from '../../policy/resolve.ts'
import { fitSpare, withVariables } from './claim.ts'

const { effective: policy, demanded } = resolvePolicy([])
const guest = '/workspace' as GuestPath
const made: SandboxSpec = {
  mounts: [],
  home: { guestPath: guest, hostPath: '/x' as HostPath },
  cwd: guest,
  policy,
  demanded,
  env: { PATH: '/bin', LANG: 'C' },
}

describe('fitSpare', () => {
  it('tells what a claim changes: limits that are drawn in, and variables that are new or other', () => {
    const wanted = { ...made, env: { PATH: '/bin', LANG: 'de', OWN: '1' }, policy: { ...policy, pids: 9 } }
    const { memoryMb, cpuCores, fileSizeMb } = policy
    expect(fitSpare(made, wanted)).toEqual({
      limits: { memoryMb, cpuCores, pids: 9, fileSizeMb },
      variables: { LANG: 'de', OWN: '1' },
    })
    expect(fitSpare(made, made)).toEqual({ variables: {} })
  })

  it('does not fit where a wall stands elsewhere, or a variable would have to go', () => {
    expect(fitSpare(made, { ...made, policy: { ...policy, tmpMb: 1 } })).toBeUndefined()
    expect(fitSpare(made, { ...made, env: { PATH: '/bin' } })).toBeUndefined()
  })
})

describe('withVariables', () => {
  it('lays them under those of the command', async () => {
    const seen: SpawnRequest[] = []
    const spawn = async (request: SpawnRequest): Promise<Process> => {
      seen.push(request)
      return {} as Process
    }
    const boundary = { id: 'sbx_x', spawn } as unknown as Boundary
    expect(withVariables(boundary, {})).toBe(boundary)
    const request: SpawnRequest = { argv: ['true'], cwd: guest, env: { B: 'own' }, stdin: 'none' }
    await withVariables(boundary, { A: '1', B: '2' }).spawn(request)
    expect(seen[0]?.env).toEqual({ A: '1', B: 'own' })
  })
})
