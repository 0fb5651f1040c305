import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createRunContext, resolveSandboxPath, updateRunState } from './doors.ts'
import { codeOf, groundForEach } from './ground.test-support.ts'

const ground = groundForEach()

describe('the doors of the seed', () => {
  it('create a run, move its state and tell where a path lies', async () => {
    const context = await createRunContext({ config: {}, prompt: 'x', sandboxPath: join(ground().directory, 'r') })
    expect((await updateRunState(context, 'running')).status).toBe('running')
    expect((await updateRunState(context, 'failed', { reason: 'oom' })).failure_reason).toBe('oom')
    expect(resolveSandboxPath(context, 'a/../b.txt')).toBe(join(context.directory, 'workspace/b.txt'))
    expect(resolveSandboxPath(context, '/deliverables/r.md')).toBe(join(context.directory, 'deliverables/r.md'))
    await context.close()
  })

  it('resolveSandboxPath refuses what lies outside', async () => {
    const context = await ground().create()
    for (const path of ['../x', '/etc/passwd', '/workspace/../run.json', '/', '../workspace-x/y']) {
      expect(await codeOf(async () => resolveSandboxPath(context, path))).toBe('OUTSIDE_MOUNTS')
    }
    for (const path of ['', 'a\0b'])
      expect(await codeOf(async () => resolveSandboxPath(context, path))).toBe('INVALID_PATH')
  })

  it('resolveSandboxPath refuses a path that leads through a link', async () => {
    const context = await ground().create()
    symlinkSync('/etc', join(context.directory, 'workspace', 'etc'))
    mkdirSync(join(context.directory, 'workspace', 'd'))
    symlinkSync('..', join(context.directory, 'workspace', 'd', 'up'))
    for (const path of ['etc', 'etc/passwd', 'd/up/x']) {
      expect(await codeOf(async () => resolveSandboxPath(context, path))).toBe('LINK_REFUSED')
    }
  })
})
