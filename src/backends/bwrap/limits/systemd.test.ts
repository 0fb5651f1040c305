import { describe, expect, it } from 'vitest'
import type { SystemdPlan } from './plan.ts'
import { compileScopeRequest, enterScope, scopePath, type RunProgram } from './systemd.ts'

const plan: SystemdPlan = {
  mechanism: 'systemd scope',
  by: 'cgroup v2 (systemd user scope)',
  enforces: ['memory', 'pids'],
  missing: [],
  manager: 'user',
  uid: 1000,
  pid: 4242,
  program: '/usr/bin/busctl',
  unit: 'glovebox-4242-777.scope',
  mountPoint: '/sys/fs/cgroup',
}
const session = '0::/user.slice/user-1000.slice/session-3.scope\n'
const path = '/user.slice/user-1000.slice/user@1000.service/app.slice/glovebox-4242-777.scope'

describe('compileScopeRequest', () => {
  it('asks for a delegated scope with this process in it, and replaces nothing', () => {
    const { argv, env } = compileScopeRequest(plan)
    expect(argv.join(' ')).toBe(
      '/usr/bin/busctl --user call org.freedesktop.systemd1 /org/freedesktop/systemd1 ' +
        'org.freedesktop.systemd1.Manager StartTransientUnit ssa(sv)a(sa(sv)) ' +
        'glovebox-4242-777.scope fail 2 PIDs au 1 4242 Delegate b true 0',
    )
    expect(env).toEqual({
      XDG_RUNTIME_DIR: '/run/user/1000',
      DBUS_SESSION_BUS_ADDRESS: 'unix:path=/run/user/1000/bus',
    })
  })

  it('needs no environment for the system manager', () => {
    expect(compileScopeRequest({ ...plan, manager: 'system' })).toMatchObject({ env: {} })
  })
})

describe('scopePath', () => {
  it('finds the scope from its top and from a leaf', () => {
    expect(scopePath(`0::${path}\n`, plan.unit)).toBe(path)
    expect(scopePath(`0::${path}/glovebox-host\n`, plan.unit)).toBe(path)
  })

  it('finds nothing in another scope', () => {
    expect(scopePath(session, plan.unit)).toBeUndefined()
    expect(scopePath(`0::${path}\n`, 'glovebox-1-1.scope')).toBeUndefined()
  })
})

describe('enterScope', () => {
  const after = (calls: number) => {
    let left = calls
    return async () => (left-- > 0 ? session : `0::${path}\n`)
  }

  it('waits until the kernel says that this process has been moved', async () => {
    const run: RunProgram = async () => ({ code: 0, stderr: '' })
    expect(await enterScope(plan, run, after(3))).toMatchObject({
      mechanism: 'cgroup v2',
      parent: `/sys/fs/cgroup${path}`,
      vacate: true,
      enforces: ['memory', 'pids'],
    })
  })

  it('asks systemd nothing when this process is in the scope already', async () => {
    const run: RunProgram = async () => {
      throw new Error('asked')
    }
    expect(await enterScope(plan, run, after(0))).toMatchObject({ parent: `/sys/fs/cgroup${path}` })
  })

  it('fails closed when systemd refuses', async () => {
    const run: RunProgram = async () => ({ code: 1, stderr: 'Access denied' })
    await expect(enterScope(plan, run, async () => session)).rejects.toMatchObject({
      code: 'BOUNDARY_FAILED',
      operatorDetail: expect.stringContaining('Access denied'),
    })
  })
})
