// A descriptor needs no path: one of a directory outside is a way out of every mount. The host process has some open that
// it should not have: left by its own parent, or by a library that does not close on exec.
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isGvisor, openHost, probeFile, starters, undefended, type AttackHost, type Guest } from './host.ts'
import { secret } from './scene.ts'

describe.each(starters)('descriptors, started by %s', (starter) => {
  let outside: string
  let inherited: number[]
  let host: AttackHost
  let guest: Guest
  beforeAll(async () => {
    outside = mkdtempSync(join(tmpdir(), 'glovebox-outside-'))
    mkdirSync(join(outside, 'directory'))
    for (const name of ['secret', 'directory/secret']) writeFileSync(join(outside, name), secret, { mode: 0o644 })
    // More than the single digits that a shell can close by name.
    inherited = [outside, join(outside, 'directory'), join(outside, 'secret')].flatMap((path) =>
      Array.from({ length: 5 }, () => openSync(path, 'r')),
    )
    host = await openHost(starter, { inheritDescriptors: inherited })
    guest = await host.sandbox()
  })
  afterAll(async () => {
    await host.close()
    for (const descriptor of inherited) closeSync(descriptor)
    rmSync(outside, { recursive: true, force: true })
  })
  const control = async () =>
    (await undefended([await probeFile('descriptors.py'), 'secret'], { inheritDescriptors: inherited })).stdout

  it('a descriptor inherited by the host process does not reach the guest', async () => {
    expect(await guest.probe('descriptors.py', ['secret'])).toMatchObject({ stdout: '', exitCode: 0 })
    expect(await guest.run(['ls', '-l', '/proc/self/fd'])).toMatchObject({
      stdout: expect.not.stringContaining('glovebox-outside'),
    })
    expect(await control()).toContain('leak /proc/self/fd/')
  })

  it('a descriptor that a library of the host leaves open does not reach the guest', async () => {
    await guest.run('true')
    const descriptor = await host.leak('/etc')
    expect(descriptor).toBeGreaterThan(2)
    expect((await guest.probe('descriptors.py', ['hostname'])).stdout).toBe('')
    for (let round = 0; round < 5; round++) await host.leak(outside)
    expect((await guest.probe('descriptors.py', ['secret'])).stdout).toBe('')
    const running = [1, 2, 3].map(() => guest.run('sleep 0.2; ls -l /proc/self/fd /proc/$$/fd /proc/1/fd'))
    for (const result of await Promise.all(running)) expect(result.stdout).not.toContain('outside')
    expect(await control()).toContain('leak')
  })

  it('/dev/fd and /proc/self/fd of the standard streams lead nowhere else', async () => {
    const tried = await guest.run(
      'ls -d /proc/self/fd/0/.. /proc/self/fd/1/.. /dev/stdin/.. 2>&1; cd /proc/self/fd/1 2>&1; cat < /dev/fd/0; readlink /proc/self/fd/0',
    )
    expect(tried.stdout).toMatch(/Not a directory/)
    expect(tried.stdout).toMatch(/\/dev\/null\n$/)
    expect((await guest.run('cat /dev/stdin', { stdin: 'given' })).stdout, 'control').toBe('given')
    expect(await control()).toContain('/dev/fd/')
  })

  it('the mounts’ own descriptors and the filter’s are closed before the command runs', async () => {
    // A container takes no more than some 200 mounts on gVisor, and each has guards of its own.
    const mounts = Array.from({ length: isGvisor ? 3 : 12 }, (_, index) => ({
      guestPath: `/m${index}`,
      hostPath: host.makeDirectory(`m${index}`),
    }))
    const many = await host.sandbox({
      mounts: [{ guestPath: '/workspace', hostPath: host.makeDirectory('w') }, ...mounts],
    })
    const seen = (await many.run(['/bin/sh', '-c', 'for d in /proc/$$/fd/*; do readlink $d; done'])).stdout
      .trim()
      .split('\n')
    // As gVisor calls the pipes that it was given.
    const own = isGvisor ? /^host:\[\d\]$/ : /^$/
    expect(seen.filter((target) => !/^(pipe:|\/dev\/null|\/proc\/)/.test(target) && !own.test(target))).toEqual([])
    const first = (await many.run('ls -l /proc/1/fd')).stdout
    expect(first).not.toMatch(/-> \/(?!dev\/null)/)
    await many.kill()
    expect(await control()).toContain('open')
  })

  it('standard input of the host is not the guest’s', async () => {
    expect(await guest.run('head -c 10; readlink /proc/self/fd/0')).toMatchObject({ stdout: '/dev/null\n' })
    expect((await undefended('head -c 5', { stdin: 'typed' })).stdout).toBe('typed')
  })
})
