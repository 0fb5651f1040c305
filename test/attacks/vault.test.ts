// A vault gives a value to one command and to nobody else. A hostile guest that was not granted it looks for it everywhere; one that
// was tries to leave it behind, in a place that the next command, a record or the host's disk would show.
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { SecretUse } from '../../src/contract/vault.ts'
import { filesHolding, moved, movedByThirteen, newCanary, searchEverywhere, searchFromShell } from './canary.ts'
import { attackedBackend, starters, undefended, type Guest, type RunResult } from './host.ts'
import { expectSameCell } from './same-cell.ts'
import { attackScene, refused } from './scene.ts'

describe.each(starters)('vaults, started by %s', (starter) => {
  const scene = attackScene(starter)

  interface Vaulted {
    readonly guest: Guest
    readonly canary: string
    /** A secret of the same vault that policy grants to nobody. */
    readonly other: string
    readonly directory: string
  }
  const asVariable: readonly SecretUse[] = [{ name: 'keys/token', env: 'TOKEN' }]
  const asFile: readonly SecretUse[] = [{ name: 'keys/token', file: 'token' }]
  const vaulted = async (name: string): Promise<Vaulted> => {
    const host = scene.host()
    const directory = host.makeDirectory(`${name}-keys`)
    const [canary, other] = [newCanary(), newCanary()]
    scene.put(directory, 'token', `${canary}\n`, 0o600)
    scene.put(directory, 'other', `${other}\n`, 0o600)
    const guest = await host.sandbox({ vaults: { keys: { directory } }, settings: { secrets: ['keys/token'] } })
    return { guest, canary, other, directory }
  }
  /** Seen in spite of redaction. */
  const shows = ({ stdout, stderr }: RunResult, value: string): boolean =>
    `${stdout}${stderr}`.includes(movedByThirteen(value)) || `${stdout}${stderr}`.includes(value)

  it('a secret that policy does not grant is refused', async () => {
    const { guest } = await vaulted('ungranted')
    const asked = guest.run('true', { secrets: [{ name: 'keys/other', env: 'OTHER' }] })
    await expect(asked).rejects.toMatchObject({ code: 'POLICY_ESCALATION' })
    const byAction = await guest.execute('run_shell', {
      command: 'echo "$OTHER"',
      secrets: [{ name: 'keys/other', env: 'OTHER' }],
    })
    expect(byAction).toMatchObject({ ok: false, code: 'POLICY_ESCALATION' })
    const request = scene.host().sandbox({
      vaults: { keys: { directory: scene.host().makeDirectory('ungranted-request') } },
      policy: { secrets: ['keys/token'] },
    })
    await expect(request).rejects.toMatchObject({ code: 'POLICY_ESCALATION' })

    const ran = join(scene.host().makeDirectory('ungranted-ran'), 'ran')
    const commands = await scene.host().sandbox({
      vaults: { ops: { command: { password: ['/usr/bin/touch', ran] } } },
      settings: { secrets: ['ops/else'] },
    })
    await expect(commands.run('true', { secrets: ['ops/password'] })).rejects.toMatchObject({
      code: 'POLICY_ESCALATION',
    })
    expect(existsSync(ran), 'its source is not even asked').toBe(false)

    const granted = await guest.run(`printf %s "$TOKEN" | ${moved}`, { secrets: asVariable })
    expect(granted.stdout, 'control: what is granted arrives').toMatch(/^pnanel-/)
  })

  it('a value that is too short to be redacted is not handed over', async () => {
    const directory = scene.host().makeDirectory('short-keys')
    scene.put(directory, 'pin', '1234567\n', 0o600)
    scene.put(directory, 'long', '12345678\n', 0o600)
    const settings = { secrets: ['keys/pin', 'keys/long'] }
    const guest = await scene.host().sandbox({ vaults: { keys: { directory } }, settings })
    await expect(guest.run('env', { secrets: ['keys/pin'] })).rejects.toMatchObject({ code: 'SECRET_UNAVAILABLE' })
    expect((await guest.run('echo "$long"', { secrets: ['keys/long'] })).stdout, 'control').toBe(
      '[redacted:keys/long]\n',
    )
  })

  it('a command after one with a secret finds nothing of it', async () => {
    const { guest, canary, other } = await vaulted('after')
    const keepBack = [
      'cp /run/secrets/token /tmp/left; cp /run/secrets/token /dev/shm/left; cp /run/secrets/token /run/secrets/more',
      '(setsid sh -c \'trap "" TERM HUP; while :; do sleep 0.1; echo "$TOKEN" > /tmp/again; done\' >/dev/null 2>&1 &)',
      'exec 7</run/secrets/token; export KEPT="$TOKEN"',
      searchEverywhere,
    ].join('; ')
    const secrets = [...asVariable, ...asFile]
    for (let round = 0; round < 2; round += 1) {
      const granted = await guest.run(`{ ${keepBack}; } | ${moved}`, { secrets })
      expect(shows(granted, canary), 'control: the probe finds what is there').toBe(true)
      const next = await guest.run(`{ ${searchEverywhere}; } | ${moved}`)
      expect(shows(next, canary)).toBe(false)
      expect(shows(next, other)).toBe(false)
      expect((await guest.run('echo "${TOKEN-none} ${KEPT-none}"; ls /run/secrets')).stdout).toBe('none none\n')
    }
    await expectSameCell(guest, 'cells are used again all the same')
  })

  it('a command beside one with a secret finds nothing of it', async () => {
    const { guest, canary } = await vaulted('beside')
    const secrets = [...asVariable, ...asFile]
    const holding = guest.run('touch /workspace/holding; while [ ! -e /workspace/enough ]; do sleep 0.05; done; env', {
      secrets,
      timeoutMs: 60_000,
    })
    const wait = 'until [ -e /workspace/holding ]; do sleep 0.05; done'
    const beside = await guest.run(`${wait}; { ${searchEverywhere}; } | ${moved}`, { timeoutMs: 60_000 })
    expect(shows(beside, canary)).toBe(false)
    expect(filesHolding([canary], [scene.host().stateDirectory, guest.workspace])).toEqual([])
    writeFileSync(join(guest.workspace, 'enough'), '')
    expect((await holding).stdout).toContain('TOKEN=[redacted:keys/token]')

    const control = `TOKEN=${canary} sleep 5 & { ${searchEverywhere}; } | ${moved}`
    expect(shows({ ...beside, ...(await undefended(control)) }, canary), 'control').toBe(true)
  })

  it('a persistent shell shows nothing of a secret that a command was given', async () => {
    const { guest, canary } = await vaulted('shell')
    const exec = await guest.openShell()
    const seen = (told: { readonly stdout: string; readonly stderr: string }): string => told.stdout + told.stderr
    const look = `{ ${searchFromShell}; } | ${moved}`
    await exec('touch /workspace/before')
    const write = `printf %s "$TOKEN" > /workspace/kept; ${look}`
    const given = await guest.run(write, { secrets: [...asVariable, ...asFile] })
    expect(shows(given, canary), 'control: the probe finds what is there').toBe(true)
    expect(seen(await exec(look))).not.toContain(movedByThirteen(canary))
    const kept = seen(
      await exec('cat /workspace/kept; cat /workspace/kept | base64; cat "/none/$(cat /workspace/kept)"'),
    )
    expect(kept.match(/\[redacted:keys\/token\]/g)).toHaveLength(3)
    expect(kept).not.toContain(canary)
  })

  it('a terminal shows nothing of a value that a command wrote down', async () => {
    const { guest, canary } = await vaulted('terminal')
    const write = 'printf %s "$TOKEN" > /workspace/kept'
    expect((await guest.run(write, { secrets: asVariable })).exitCode).toBe(0)
    const typed = await guest.type('echo "$(cat /workspace/kept) and on"; cat /workspace/kept; sleep 0.2')
    expect(typed).toContain('[redacted:keys/token] and on')
    expect(typed).not.toContain(canary)
    expect(filesHolding([canary], [guest.workspace]), 'control: it is there').toHaveLength(1)
  })

  it('a secret given as a file is on no disk, and gone with its command', async () => {
    const { guest, canary } = await vaulted('file')
    const look = 'stat -c "%a %u" /run/secrets/token; echo x >/run/secrets/token; stat -f -c %T /run/secrets'
    const holding = guest.run(`${look}; touch /workspace/holding; sleep 1; ${moved} < /run/secrets/token`, {
      secrets: asFile,
    })
    while (!existsSync(join(guest.workspace, 'holding'))) await new Promise((resolve) => setTimeout(resolve, 20))
    const { stateDirectory, directory } = scene.host()
    const own = dirname(directory)
    const found = filesHolding([canary], [stateDirectory, guest.workspace, join(own, 'tmp'), join(own, 'home')])
    expect(found).toEqual([])
    const held = await holding
    expect(held.stdout).toContain(movedByThirteen(canary))
    expect(held.stdout).toMatch(/^400 \d+\ntmpfs\n/)
    expect(filesHolding([canary], [directory]), 'control: the search finds the vault itself').toHaveLength(1)
    expect((await guest.run('ls -d /run/secrets/token')).exitCode).not.toBe(0)
  })

  it('a crash of a command with a secret leaves no value behind', async () => {
    const { guest, canary } = await vaulted('crash')
    const crash = "ulimit -c unlimited; cd /workspace; sh -c 'kill -SEGV $$'; sh -c 'kill -ABRT $$'; ls core* *.core"
    const crashed = await guest.run(`${crash}; printf %s "$TOKEN" | ${moved}`, { secrets: [...asVariable, ...asFile] })
    expect(shows(crashed, canary), 'control: it had the value when it crashed').toBe(true)
    expect(readdirSync(guest.workspace).filter((name) => name.includes('core'))).toEqual([])
    expect(filesHolding([canary], [guest.workspace, scene.host().stateDirectory])).toEqual([])
  })

  it('no action and no link shows a value of a vault', async () => {
    const { guest, canary, other } = await vaulted('actions')
    const links = 'ln -s /vaults/keys/token link; ln -s /vaults/keys directory; ln /vaults/keys/token hard'
    expect((await guest.run(`cd /workspace; ${links}; ls /vaults/keys`)).stdout).toBe('other\ntoken\n')
    for (const path of ['/vaults/keys/token', 'link', 'directory/token', '/proc/self/root/vaults/keys/token']) {
      for (const action of ['read_text', 'read_bytes']) expect(await guest.execute(action, { path })).toEqual(refused)
      const command = await guest.execute('run_command', { argv: ['cat', path] })
      expect(JSON.stringify(command)).not.toContain(canary)
      expect(shows(await guest.run(`cd /workspace; cat ${path} | ${moved}`), canary)).toBe(false)
    }
    const grepped = await guest.execute('grep_text', { pattern: 'canary', path: '/' })
    expect(JSON.stringify(grepped)).not.toMatch(new RegExp(`${canary}|${other}`))
    expect(await guest.execute('grep_text', { pattern: 'canary', path: '/vaults/keys' })).toEqual(refused)
    expect(await guest.execute('write_text', { path: '/vaults/keys/token', text: 'x' })).toEqual(refused)
    expect(guest.description.vaults).toEqual([
      {
        name: 'keys',
        guestPath: '/vaults/keys',
        source: 'directory',
        secrets: [
          { name: 'other', granted: false },
          { name: 'token', granted: true },
        ],
      },
    ])

    scene.put(guest.workspace, 'plain', canary)
    expect(await guest.execute('read_text', { path: 'plain' }), 'control: nothing was handed out yet').toMatchObject({
      value: { text: canary },
    })
  })

  it('a value that a command wrote down is redacted wherever it is read', async () => {
    const { guest, canary } = await vaulted('written')
    const write = [
      'cd /workspace; printf "a %s b" "$TOKEN" > raw; printf %s "$TOKEN" | base64 -w0 > base64',
      'mkdir "$TOKEN"; printf "user:%s" "$TOKEN" | base64 > basic; printf %s "$TOKEN" | od -An -tx1 | tr -d " \\n" > hex',
    ].join('; ')
    expect((await guest.run(write, { secrets: asVariable })).exitCode).toBe(0)
    expect(filesHolding([canary], [guest.workspace]), 'control: they hold it').toHaveLength(4)
    const asked: readonly (readonly [string, unknown])[] = [
      ...['raw', 'base64', 'basic', 'hex'].flatMap((path) => [
        ['read_text', { path }] as const,
        ['read_bytes', { path }] as const,
        ['run_command', { argv: ['cat', path] }] as const,
      ]),
      ['grep_text', { pattern: '.' }],
      ['list_dir', { path: '.' }],
      ['run_shell', { command: 'cat raw base64 basic hex; ls; echo "$(cat raw)" >&2; cat missing-$(ls -d canary*)' }],
      ['read_text', { path: `${canary}/missing` }],
    ]
    for (const [action, input] of asked) {
      const answer = JSON.stringify(await guest.execute(action, input))
      const bytes = /"base64":"([^"]*)"/.exec(answer)?.[1] ?? ''
      const told = answer + Buffer.from(bytes, 'base64').toString()
      expect(told, action).toContain('[redacted:keys/token]')
      for (const form of [
        canary,
        Buffer.from(canary).toString('base64').slice(0, 20),
        Buffer.from(canary).toString('hex'),
      ])
        expect(told, action).not.toContain(form)
    }
  })

  it('a directory put in the place of a vault is not read', async () => {
    const { guest, canary, directory } = await vaulted('swapped')
    const planted = newCanary()
    const elsewhere = scene.host().makeDirectory('swapped-elsewhere')
    scene.put(elsewhere, 'token', planted, 0o600)
    renameSync(directory, `${directory}-moved`)
    symlinkSync(elsewhere, directory)
    const tried = guest.run(`printf %s "$TOKEN" | ${moved}`, { secrets: asVariable })
    // Docker, which is given paths, runs nothing any more where one of them leads elsewhere.
    if (attackedBackend === 'docker') await expect(tried).rejects.toMatchObject({ code: 'BOUNDARY_FAILED' })
    else {
      expect(shows(await tried, planted)).toBe(false)
      expect(shows(await tried, canary)).toBe(true)
    }
    expect(readFileSync(join(directory, 'token'), 'utf8'), 'control: by its path it is another one').toBe(planted)
  })

  it('a link in a vault hands over nothing', async () => {
    const { guest, directory } = await vaulted('linked')
    const outside = newCanary()
    scene.put(scene.host().makeDirectory('linked-outside'), 'file', outside, 0o600)
    renameSync(join(directory, 'token'), join(directory, 'kept'))
    symlinkSync(join(dirname(directory), 'linked-outside', 'file'), join(directory, 'token'))
    await expect(guest.run('env', { secrets: asVariable })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect(readFileSync(join(directory, 'token'), 'utf8'), 'control: the link leads there').toBe(outside)
  })

  it('a program that the guest can write is not run for a vault', async () => {
    const host = scene.host()
    const hostPath = host.makeDirectory('programs')
    scene.put(hostPath, 'print', '#!/bin/sh\necho planted-by-the-guest\n', 0o755)
    const link = join(host.makeDirectory('programs-link'), 'print')
    symlinkSync(join(hostPath, 'print'), link)
    const create = (...argv: readonly [string, ...string[]]): Promise<Guest> =>
      host.sandbox({
        mounts: [{ guestPath: '/workspace', hostPath }],
        vaults: { ops: { command: { password: argv } } },
        settings: { secrets: ['ops/password'] },
      })
    await expect(create(join(hostPath, 'print'))).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    await expect(create(link)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    await expect(create('/bin/sh', join(hostPath, 'print'))).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    await expect(create('print')).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    const outside = host.makeDirectory('programs-outside')
    mkdirSync(join(outside, 'bin'))
    host.give(join(outside, 'bin'))
    scene.put(join(outside, 'bin'), 'print', '#!/bin/sh\necho printed-for-the-operator\n', 0o755)
    const guest = await create(join(outside, 'bin', 'print'))
    const given = await guest.run(`printf %s "$password" | ${moved}`, { secrets: ['ops/password'] })
    expect(given.stdout, 'control').toBe(movedByThirteen('printed-for-the-operator'))
  })

  it('a command that was given a value can say it in a form of its own', async () => {
    const { guest, canary } = await vaulted('own-form')
    const said = await guest.run(`printf %s "$TOKEN" | ${moved}`, { secrets: asVariable })
    expect(said.stdout).toBe(movedByThirteen(canary))
  })

  it("a mount's host path that the guest swapped for a link is not mounted again", async () => {
    const host = scene.host()
    const hostPath = host.makeDirectory('provisioned')
    const inner = join(hostPath, 'inner')
    mkdirSync(inner)
    host.give(inner)
    const outside = host.makeDirectory('provisioned-outside')
    scene.put(outside, 'secret', newCanary())
    const mounts = [{ guestPath: '/workspace', hostPath }]
    const guest = await host.sandbox({ mounts: [...mounts, { guestPath: '/inner', hostPath: inner, mode: 'ro' }] })
    const swap = await guest.run(`mv /workspace/inner /workspace/away && ln -s ${outside} /workspace/inner`)
    const more = { mounts: { add: [{ guestPath: '/more', hostPath: host.makeDirectory('provisioned-more') }] } }
    expect(swap.exitCode, 'control: the guest may do so').toBe(0)
    await expect(guest.provision(more)).rejects.toMatchObject({ code: 'BOUNDARY_FAILED' })
    rmSync(inner)
    renameSync(join(hostPath, 'away'), inner)
    expect((await guest.run('ls -d /inner /more')).stdout, 'nothing has changed').toBe('/inner\n')
    const after = await guest.provision(more)
    expect(after.mounts.map(({ guestPath }) => guestPath)).toEqual(['/workspace', '/inner', '/more'])
    expect((await guest.run('touch /more/made && ls -d /inner /more/made')).stdout).toBe('/inner\n/more/made\n')
  })
})
