// Attacks on what only the backend docker has: its command line, its daemon, and containers that serve one command after another.
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { findDocker } from '../../src/backends/docker/facts.ts'
import { execTarget } from '../faults/exec-targets.ts'
import { shell, startExecServer } from '../fixtures/exec-server.ts'
import { aimWhileStarting } from './aim-while-starting.ts'
import { describeAsRoot, describeWhere } from './describe-where.ts'
import { showingElsewhere } from './host-conversation.ts'
import { container, openHost, undefended, type AttackHost, type Guest } from './host.ts'
import { isRequired } from '../conformance/required.ts'

const image = 'glovebox/sandbox:latest'
const socket = '/var/run/docker.sock'
const docker = (...args: readonly string[]): string =>
  execFileSync('docker', args, { encoding: 'utf8', stdio: 'pipe', timeout: 30_000 })
const answers = spawnSync('docker', ['image', 'inspect', image]).status === 0

describeWhere(answers || isRequired('docker'), `no Docker daemon with the image ${image}`)('docker', () => {
  let host: AttackHost
  let guest: Guest
  /** A command that comes before the last one's container has been looked over has another one made: there may be several. */
  const namesOf = (id: string): readonly string[] =>
    docker('ps', '--filter', `label=dev.glovebox.sandbox=${id}`, '--format', '{{.Names}}')
      .split('\n')
      .filter((name) => name !== '')
  /** What docker says of each of them. One that has rested for long may be gone by the time it is asked for; never all. */
  const toldOfEach = (id: string, ...words: readonly string[]): readonly string[] => {
    const told = namesOf(id).map((name) => spawnSync('docker', [...words, name], { encoding: 'utf8', timeout: 30_000 }))
    const [first = '', ...more] = told.filter(({ status }) => status === 0).map(({ stdout, stderr }) => stdout + stderr)
    expect(first, `${words.join(' ')} of ${id}`).not.toBe('')
    return [first, ...more]
  }

  beforeAll(async () => {
    host = await openHost('user', { env: { OPERATOR_SECRET: 'secret-5d41' }, group: statSync(socket).gid })
    guest = await host.sandbox({ ...container, env: { GUEST_VALUE: 'value-7d79' } })
  })
  afterAll(() => host?.close())

  it('an image or a runtime that is written as a flag is refused', async () => {
    for (const settings of [{ image: '--privileged' }, { image: '-v/:/host' }, { runtime: '--privileged' }]) {
      await expect(host.sandbox({ backend: 'docker', docker: settings })).rejects.toMatchObject({
        code: 'INVALID_SETTINGS',
      })
    }
    // The control: docker itself takes it for a flag, and the next word for the image.
    const control = spawnSync('docker', ['run', '--rm', '--pull=never', '--read-only', 'no/such:image'], {
      encoding: 'utf8',
    })
    expect(control.stderr).toContain('no/such:image')
  })

  it('a docker earlier in PATH is not used', async () => {
    const evil = mkdtempSync(join(tmpdir(), 'glovebox-evil-'))
    const planted = join(evil, 'docker')
    writeFileSync(planted, `#!/bin/sh\necho ran > ${join(evil, 'ran')}\n`)
    chmodSync(planted, 0o755)
    chmodSync(evil, 0o777)
    const other = await openHost('user', {
      env: { PATH: `${evil}:/usr/local/bin:/usr/bin:/bin` },
      group: statSync(socket).gid,
    })
    try {
      const live = await other.sandbox(container)
      expect((await live.run('echo inside')).stdout).toBe('inside\n')
      expect(existsSync(join(evil, 'ran'))).toBe(false)
      chmodSync(planted, 0o777)
      expect(findDocker([planted])).toMatchObject({ reason: expect.stringContaining('can be changed by others') })
      execFileSync('docker', ['version'], { env: { PATH: `${evil}:/usr/bin:/bin` } })
      expect(existsSync(join(evil, 'ran')), 'control').toBe(true)
    } finally {
      await other.close()
      rmSync(evil, { recursive: true })
    }
  })

  it("a secret of the operator's environment reaches neither docker nor the container", async () => {
    expect((await guest.run('env; cat /proc/1/environ')).stdout).not.toContain('secret-5d41')
    for (const told of toldOfEach(guest.id, 'inspect')) {
      expect(told).not.toContain('secret-5d41')
      expect(told, "nor does the guest's own stand there").not.toContain('value-7d79')
    }
    const clients = execFileSync('sh', ['-c', 'grep -la secret-5d41 /proc/[0-9]*/environ 2>/dev/null || true'], {
      encoding: 'utf8',
    })
    const docked = clients.split('\n').filter((file) => file !== '' && commandOf(file).includes('docker'))
    expect(docked).toEqual([])
    expect(clients, 'control: the host process has it').toContain(`/proc/${host.pid}/`)
    const lines = execFileSync('sh', ['-c', 'cat /proc/[0-9]*/cmdline 2>/dev/null || true'], { encoding: 'utf8' })
    expect(lines).not.toContain('value-7d79')
    expect((await guest.run('echo $GUEST_VALUE')).stdout, 'control').toBe('value-7d79\n')
  })

  it('a command cannot speak to the keeper of its container, nor in its name', async () => {
    const numbers = [0, 1, 2, 9].map((number) => `/proc/1/fd/${number}`)
    const report = `for fd in ${numbers.join(' ')}; do echo forged > $fd && echo WRITTEN; done`
    const reading = 'cat /proc/1/environ /proc/1/maps /proc/1/mem /proc/1/exe'
    const tried = await guest.run(`(${report}; ${reading}) 2>refusals; kill -9 1; kill -STOP 1; exit 7`)
    expect(tried).toMatchObject({ ended: { by: 'exit', code: 7 }, stdout: '' })
    const refusals = readFileSync(join(guest.workspace, 'refusals'), 'utf8')
    expect(refusals.match(/Permission denied/g)?.length).toBeGreaterThanOrEqual(7)
    const trace = 'import ctypes; c=ctypes.CDLL(None,use_errno=True); print(c.ptrace(0x4206,1,0,0), ctypes.get_errno())'
    expect((await guest.run(['python3', '-c', trace])).stdout).toBe('-1 1\n')
    expect((await guest.run('echo alive')).stdout).toBe('alive\n')
    // The control: a first process whose program can be read is open to its own user.
    const plain = ['run', '--rm', '--network=none', '--user=1000:1000', '--entrypoint=/bin/sh', image]
    const open = `sh -c 'cat /proc/1/maps >/dev/null && echo READ; python3 -c "${trace}"'; true`
    const control = docker(...plain, '-c', open)
    expect(control).toBe('READ\n0 0\n')
  })

  it('nothing that a command left in its container is there for the next one', async () => {
    const but = ['/proc', '/sys', '/workspace', '/home'].map((place) => `-path ${place}`).join(' -o ')
    const listed = await guest.run(`find / \\( ${but} \\) -prune -o -type d -writable -print 2>/dev/null; true`)
    const places = listed.stdout.split('\n').filter((place) => place !== '')
    expect(places).toEqual(expect.arrayContaining(['/tmp', '/var/tmp', '/dev/shm', '/.glovebox/run']))
    for (const place of places) {
      for (const leave of [`touch ${place}/left`, `mkdir ${place}/.left`, `touch ${place}/left; chmod 0 ${place}`]) {
        await guest.run(leave)
        const found = await guest.run(`chmod 700 ${place} 2>/dev/null; ls -A ${place}`)
        expect([place, leave, found.exitCode, found.stdout]).toEqual([place, leave, 0, ''])
      }
    }
    // Control: within one command it is there.
    expect((await guest.run('touch /.glovebox/run/left; ls -A /.glovebox/run')).stdout).toBe('left\n')
  })

  it('nothing that a command started outlives it in its container', async () => {
    const daemon = 'setsid sh -c \'env -i sh -c "while :; do date +%s%N > beat; sleep 0.02; done"\' >/dev/null 2>&1 &'
    const wait = 'while [ ! -s beat ]; do sleep 0.01; done'
    await guest.run(`rm -f beat; (${daemon}) ; ${wait}`)
    const beat = (): string => readFileSync(join(guest.workspace, 'beat'), 'utf8')
    const last = beat()
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(beat()).toBe(last)
    // What was left would stay for ever; the keeper's own helpers, where it starts or tidies up, do not.
    const processes = (): readonly number[] =>
      namesOf(guest.id).map((name) => docker('top', name, '-o', 'pid').trim().split('\n').length - 1)
    await expect.poll(() => new Set(processes())).toEqual(new Set([1]))
    const running = guest.run(`(${daemon}) ; while [ ! -e enough ]; do sleep 0.05; done`)
    await expect.poll(beat, { message: 'control: while its command runs, it beats' }).not.toBe(last)
    writeFileSync(join(guest.workspace, 'enough'), '')
    await running
  })

  it('what a command prints is kept nowhere by Docker', async () => {
    const canary = `printed-${process.pid}-canary`
    expect((await guest.run(`echo ${canary}; echo ${canary} >&2`)).stdout).toBe(`${canary}\n`)
    const kinds = toldOfEach(guest.id, 'inspect', '--format', '{{.HostConfig.LogConfig.Type}}')
    expect(new Set(kinds)).toEqual(new Set(['none\n']))
    for (const name of namesOf(guest.id)) {
      const logs = spawnSync('docker', ['logs', name], { encoding: 'utf8' })
      expect(`${logs.stdout}${logs.stderr}`).not.toContain(canary)
    }
    const control = `glovebox-control-${process.pid}`
    docker('run', '--name', control, '--network=none', '--log-driver=json-file', image, 'echo', canary)
    expect(docker('logs', control)).toContain(canary)
    docker('rm', control)
  })

  describeAsRoot('where the daemon sees more than the host process', () => {
    it('a mount below a read-only one is not left writable', async () => {
      const isDeep = Number.parseInt(docker('version', '--format', '{{.Server.Version}}'), 10) >= 25
      const other = await openHost('user', { group: statSync(socket).gid, seesElsewhere: 'mounted' })
      const readOnly = (hostPath: string): Promise<Guest> =>
        other.sandbox({ ...container, mounts: [{ guestPath: '/ref', hostPath, mode: 'ro' }] })
      try {
        const made = readOnly(other.directory)
        if (isDeep) expect((await (await made).run('touch /ref/mounted/x || echo refused')).stdout).toBe('refused\n')
        else await expect(made).rejects.toMatchObject({ code: 'BOUNDARY_FAILED', detail: other.directory })
        const quiet = await readOnly(other.makeDirectory('quiet'))
        expect((await quiet.run('touch /ref/x || echo refused')).stdout, 'control: another one stands').toBe(
          'refused\n',
        )
      } finally {
        await other.close()
      }
      // The control: what is mounted below /dev can be written through a read-only mount of /dev, before Docker 25.
      const file = `glovebox-below-${process.pid}`
      const mount = 'type=bind,source=/dev,target=/ref,readonly'
      const script = `touch /ref/shm/${file} && echo WRITTEN; rm -f /ref/shm/${file}`
      const args = ['run', '--rm', '--network=none', '--mount', mount, '--entrypoint=/bin/sh', image, '-c', script]
      expect(spawnSync('docker', args, { encoding: 'utf8' }).stdout).toBe(isDeep ? '' : 'WRITTEN\n')
    })
  })

  it('a container of another installation is neither listed nor removed', async () => {
    const other = await openHost('user', { group: statSync(socket).gid })
    try {
      const theirs = await other.sandbox(container)
      const mine = await host.sandbox(container)
      await mine.run('true')
      expect(namesOf(mine.id)).not.toEqual([])
      // It lives through the end of the other, in the container in which it began: a lost one would be replaced.
      const running = theirs.run('touch begun; while [ ! -e enough ]; do sleep 0.05; done; echo still here')
      await expect.poll(() => existsSync(join(theirs.workspace, 'begun'))).toBe(true)
      await mine.kill()
      expect(namesOf(theirs.id)).not.toEqual([])
      // Docker clears away what was killed in its own time.
      await expect.poll(() => namesOf(mine.id)).toEqual([])
      writeFileSync(join(theirs.workspace, 'enough'), '')
      expect(await running).toMatchObject({ ended: { by: 'exit', code: 0 }, stdout: 'still here\n' })
    } finally {
      await other.close()
    }
  })

  describeAsRoot('where the daemon sees something else than the host process', () => {
    it('a source that is aimed elsewhere while a container starts is not shown to the guest', async () => {
      // To the daemon the path leads elsewhere than to the host process, as after a swap between its look and the daemon's.
      const other = await openHost('user', { group: statSync(socket).gid, seesElsewhere: 'aimed' })
      const aimed = join(other.directory, 'aimed')
      const own = [{ guestPath: '/workspace', hostPath: other.makeDirectory('own') }]
      const mounted = (hostPath: string): Promise<Guest> =>
        other.sandbox({ ...container, mounts: [...own, { guestPath: '/data', hostPath, mode: 'ro' }] })
      try {
        writeFileSync(join(aimed, 'canary'), 'elsewhere')
        await expect(mounted(aimed)).rejects.toMatchObject({
          code: 'BOUNDARY_FAILED',
          detail: expect.stringContaining('does not show at /data'),
        })
        const quiet = await mounted(other.makeDirectory('quiet'))
        expect((await quiet.run('echo stands')).stdout, 'control: another one stands').toBe('stands\n')
        const shown = docker('run', '--rm', '--network=none', `--volume=${aimed}:/at`, image, 'cat', '/at/canary')
        expect(shown, 'control: the daemon goes where it leads to').toBe('elsewhere')
      } finally {
        await other.close()
      }
      // And so it is with an exec: nobody speaks to its container before its command begins.
      const first = await startExecServer(execTarget('docker').options)
      expect(await first.exec(shell('printf elsewhere > canary')), 'control').toMatchObject({ status: 'SUCCEEDED' })
      await first.stop()
      const work = join(first.workspace, 'projects/demo/work')
      const seen = join(first.workspace, 'projects/demo/seen')
      cpSync(work, seen, { recursive: true, preserveTimestamps: true })
      chownSync(seen, statSync(work).uid, statSync(work).gid)
      const under = showingElsewhere({ shown: seen, at: work })
      const server = await startExecServer({ ...execTarget('docker').options, place: first.place, under })
      try {
        const exec = await server.exec(shell('cat canary; touch /workspace/artifacts/begun'))
        expect(exec).toMatchObject({ status: 'FAILED', exit_code: null, error_reason: 'boundary_failed' })
        expect(readFileSync(join(server.workspace, exec.stdout_path), 'utf8')).toBe('')
        expect(existsSync(join(server.workspace, exec.artifacts_dir, 'files/begun'))).toBe(false)
        const control = await server.exec({ ...shell('echo stands'), project_id: 'quiet' })
        expect(control, 'control: one of another project stands').toMatchObject({ status: 'SUCCEEDED' })
      } finally {
        await server.stop()
        await server.remove()
      }
    })

    it('a place below a mount that is aimed elsewhere while a container starts, and back again, is not left open', async () => {
      const aim = aimWhileStarting(image)
      const other = await openHost('user', { group: statSync(socket).gid, findsInPlace: aim })
      const mounted = (workspace: string): Promise<Guest> => {
        mkdirSync(join(workspace, 'lead/kept'), { recursive: true })
        for (const made of ['lead', 'lead/kept']) other.give(join(workspace, made))
        const mounts = [{ guestPath: '/workspace', hostPath: workspace }]
        return other.sandbox({ ...container, mounts, settings: { protect: ['lead/kept'] } })
      }
      try {
        const workspace = other.makeDirectory('own')
        aim.aim(workspace)
        await expect(mounted(workspace)).rejects.toMatchObject({
          code: 'BOUNDARY_FAILED',
          detail: expect.stringContaining('does not show at /workspace/lead'),
        })
        const quiet = await mounted(other.makeDirectory('quiet'))
        const writing = await quiet.run('touch lead/kept/x || echo refused')
        expect(writing.stdout, 'control: another one stands').toBe('refused\n')
        expect(aim.undefended(workspace), 'control: the place is left open').toBe('WRITTEN\n')
      } finally {
        await other.close()
        aim.remove()
      }
    })
  })

  it('the guest is not in the group of the daemon', async () => {
    const group = statSync(socket).gid
    expect((await guest.run('id -G')).stdout.trim().split(' ')).not.toContain(String(group))
    const control = await undefended(['id', '-G'])
    expect(control.exitCode).toBe(0)
    expect(readFileSync(`/proc/${host.pid}/status`, 'utf8'), 'control: the host process is').toMatch(
      new RegExp(`^Gid:\\s+${group}\\b`, 'm'),
    )
  })
})

function commandOf(environFile: string): string {
  try {
    return readFileSync(environFile.replace('/environ', '/cmdline'), 'utf8')
  } catch {
    return ''
  }
}
