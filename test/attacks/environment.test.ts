// Variables carry secrets in and commands out. What the operator has in the environment must not reach the guest; what the
// guest chooses must reach its own command and no program of ours on the way.
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { execFileSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { attackedBackend, guestIdIn, openHost, starters, undefended, type AttackHost, type Guest } from './host.ts'
import { secret } from './scene.ts'

const operatorSecrets = {
  AWS_SECRET_ACCESS_KEY: secret,
  GITHUB_TOKEN: secret,
  SSH_AUTH_SOCK: '/run/agent',
  MY_OWN: secret,
  NODE_EXTRA_CA_CERTS: '',
}
// Each makes some program load or run something.
const loaders = [
  'BASH_ENV',
  'ENV',
  'NODE_OPTIONS',
  'PYTHONSTARTUP',
  'PYTHONPATH',
  'PERL5OPT',
  'RUBYOPT',
  'GIT_SSH_COMMAND',
  'GIT_EXTERNAL_DIFF',
  'GIT_CONFIG_COUNT',
  'DYLD_INSERT_LIBRARIES',
  'PROMPT_COMMAND',
  'SHELLOPTS',
  'PS4',
]

describe.each(starters)('environment, started by %s', (starter) => {
  let place: string
  let library: string
  let host: AttackHost
  let guest: Guest
  beforeAll(async () => {
    place = mkdtempSync(join(tmpdir(), 'glovebox-environment-'))
    chmodSync(place, 0o777)
    library = join(place, 'preload.so')
    execFileSync('gcc', [
      '-shared',
      '-fPIC',
      '-Wall',
      '-Werror',
      '-o',
      library,
      join(import.meta.dirname, 'probes/preload.c'),
    ])
    host = await openHost(starter, {
      env: {
        ...operatorSecrets,
        PATH: `${place}:.:relative:/usr/bin:/../usr/bin:/bin::`,
        BASH_ENV: join(place, 'rc'),
        PYTHONSTARTUP: join(place, 'rc'),
        ENV: join(place, 'rc'),
      },
    })
    writeFileSync(join(place, 'rc'), `touch '${place}/rc-ran'\n`)
    guest = await host.sandbox()
    copyFileSync(library, join(guest.workspace, 'preload.so'))
    host.give(join(guest.workspace, 'preload.so'))
  })
  afterAll(async () => {
    await host.close()
    rmSync(place, { recursive: true, force: true })
  })

  it("a secret of the operator's environment is not in the guest's", async () => {
    const seen = await guest.run('env; cat /proc/self/environ /proc/1/environ /proc/$$/environ | tr "\\0" "\\n"; set')
    expect(seen.stdout).not.toContain(secret)
    for (const name of Object.keys(operatorSecrets)) expect(seen.stdout, name).not.toMatch(new RegExp(`^${name}=`, 'm'))
    const allowed = await host.sandbox({ settings: { env: ['MY_OWN'] } })
    expect((await allowed.run('printf "%s" "$MY_OWN"')).stdout, 'control: what the operator names does pass').toBe(
      secret,
    )
    await allowed.kill()
    expect((await undefended('env', { env: operatorSecrets })).stdout).toContain(secret)
  })

  it('the environment of the host process cannot be read through /proc', async () => {
    const tried = await guest.run(
      `cat /proc/${host.pid}/environ /proc/${process.pid}/environ; for p in /proc/[0-9]*; do cat $p/environ; done | tr "\\0" "\\n"`,
    )
    expect(tried.stdout).not.toContain(secret)
    // The control shows the secret of a process of its own, since it may not look into anybody else's either.
    expect(
      (
        await undefended(
          // While it becomes a sleep it has no environment that could be read.
          'sleep 15 & child=$!; until seen=$(tr "\\0" "\\n" < /proc/$child/environ) && [ -n "$seen" ]; do kill -0 $child || exit; done; echo "$seen"; kill $child',
          { env: { MINE: secret } },
        )
      ).stdout,
    ).toContain(secret)
  })

  it('a request cannot add a name to the environment', async () => {
    await expect(host.sandbox({ policy: { env: ['GITHUB_TOKEN'] } })).rejects.toMatchObject({
      code: 'POLICY_ESCALATION',
    })
    const operators = await host.sandbox({ settings: { env: ['GITHUB_TOKEN'] } })
    expect((await operators.run('printf "%s" "$GITHUB_TOKEN"')).stdout, 'control').toBe(secret)
    await operators.kill()
  })

  it('PATH shows no host-only directory and none relative to the cwd', async () => {
    const path = (await guest.run('printf "%s" "$PATH"')).stdout
    expect(path.split(':')).toEqual(['/usr/bin', '/bin'])
    writeFileSync(join(guest.workspace, 'id'), '#!/bin/sh\necho planted\n')
    chmodSync(join(guest.workspace, 'id'), 0o755)
    host.give(join(guest.workspace, 'id'))
    expect((await guest.run('id -u')).stdout).toBe(`${guestIdIn(host)}\n`)
    const control = await undefended('id -u', { cwd: guest.workspace, env: { PATH: `:/usr/bin` } })
    expect(control.stdout).toBe('planted\n')
  })

  it("a variable of the guest's choice does not reach the gate", async () => {
    const env = { LD_PRELOAD: '/workspace/preload.so' }
    expect((await guest.run(['/bin/true'], { env })).exitCode).toBe(0)
    // Loaded in the command alone, which has its limits by then; never in the shell that waits at the gate.
    expect(readFileSync(join(guest.workspace, 'preload.log'), 'utf8')).toBe(`true core=0 uid=${guestIdIn(host)}\n`)
    const whole = await host.sandbox({ env, mounts: [{ guestPath: '/workspace', hostPath: guest.workspace }] })
    rmSync(join(guest.workspace, 'preload.log'))
    await whole.run(['/bin/true'], { env: { LD_AUDIT: '/workspace/preload.so' } })
    expect(readFileSync(join(guest.workspace, 'preload.log'), 'utf8')).toMatch(
      new RegExp(`^(true core=0 uid=${guestIdIn(host)}\\n)+$`),
    )
    await whole.kill()
    const log = join(place, 'control.log')
    await undefended(['/bin/sh', '-c', ':'], { env: { LD_PRELOAD: library, PRELOAD_LOG: log } })
    expect(readFileSync(log, 'utf8'), 'control').toMatch(/^sh core=/m)
  })

  it('loaders in the environment of a command reach that command and nothing of the host', async () => {
    const marker = join(place, 'rc-ran')
    const env = Object.fromEntries(
      loaders.filter((name) => name !== 'SHELLOPTS').map((name) => [name, '/workspace/none']),
    )
    const seen = (await guest.run(['/usr/bin/env'], { env })).stdout
    for (const name of Object.keys(env)) expect(seen, name).toContain(`${name}=/workspace/none`)
    const xtrace = {
      SHELLOPTS: 'xtrace',
      PS4: '$(touch /workspace/traced-$(cat /proc/$$/comm))',
      ENV: '/workspace/rc',
      BASH_ENV: '/workspace/rc',
    }
    await guest.run(['/bin/true'], { env: xtrace })
    expect(existsSync(join(guest.workspace, 'traced-sh'))).toBe(false)
    expect(existsSync(marker), "the operator's own BASH_ENV ran in a helper").toBe(false)
    // A bash whose standard input is a socket reads .bashrc instead, so it is started by another one.
    await undefended(['/bin/bash', '-c', 'bash -c : < /dev/null; true'], { env: { BASH_ENV: join(place, 'rc') } })
    expect(existsSync(marker), 'control').toBe(true)
    rmSync(marker)
  })

  it("the operator's own preloaded library is not loaded by bwrap or in the guest", async () => {
    const log = join(place, 'operator.log')
    writeFileSync(log, '')
    chmodSync(log, 0o666)
    const preloaded = await openHost(starter, { env: { LD_PRELOAD: library, PRELOAD_LOG: log } })
    try {
      const inside = await preloaded.sandbox()
      expect((await inside.run('env; grep preload /proc/self/maps')).stdout).not.toContain('preload')
      const programs = new Set(
        readFileSync(log, 'utf8')
          .split('\n')
          .map((line) => line.split(' ')[0]),
      )
      expect(programs, 'control: the host process itself').toContain('node')
      expect([...programs].filter((name) => name !== 'node' && name !== '')).toEqual([])
    } finally {
      await preloaded.close()
    }
  })

  it('environment values are not on the command line of any process', async () => {
    const token = 'value-that-must-not-be-seen'
    const waiting = 'touch begun; while [ ! -e enough ]; do sleep 0.05; done'
    const shown = guest.run(`${waiting}; cat /proc/*/cmdline | tr "\\0" " "`, { env: { MY_TOKEN: token } })
    await expect.poll(() => existsSync(join(guest.workspace, 'begun'))).toBe(true)
    const outsideView = await undefended('ps axww -o args | cat')
    const lines = readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((pid) => readQuietly(`/proc/${pid}/cmdline`))
    expect(
      lines.some((line) => line.includes(attackedBackend)),
      'control: the boundary is running',
    ).toBe(true)
    expect(lines.filter((line) => line.includes(token))).toEqual([])
    expect(outsideView.stdout).not.toContain(token)
    writeFileSync(join(guest.workspace, 'enough'), '')
    expect((await shown).stdout).not.toContain(token)
  })
})

function readQuietly(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}
