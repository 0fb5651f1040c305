// A cell serves one command after another. A hostile command tries to live on in it: by taking over the process that starts
// the next one, by leaving something behind, or through a name that lost its guard in the meantime.
import { readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { probeFile, starters, undefended, type Guest } from './host.ts'
import { expectSameCell } from './same-cell.ts'
import { attackScene } from './scene.ts'

describe.each(starters)('cells, started by %s', (starter) => {
  const scene = attackScene(starter)
  const guestIn = (name: string): Promise<Guest> => {
    const hostPath = scene.host().makeDirectory(name)
    return scene.host().sandbox({ mounts: [{ guestPath: '/workspace', hostPath }] })
  }

  it('a command cannot speak to the keeper of its cell, nor in its name', async () => {
    const guest = await guestIn('keeper')
    await expectSameCell(guest)
    const report = 'for n in 0 1 2 5 6 9; do echo "exit 0" > /proc/1/fd/$n && echo WRITTEN; done'
    const reading = 'cat /proc/1/environ /proc/1/maps /proc/1/mem /.glovebox/sh; readlink /proc/1/fd/5 /proc/1/exe'
    const tried = await guest.run(`(${report}; ${reading}) 2>/workspace/refusals; sleep 0.2; exit 7`)
    expect(tried).toMatchObject({ ended: { by: 'exit', code: 7 }, stdout: '' })
    expect(tried.durationMs).toBeGreaterThanOrEqual(200)
    const refusals = readFileSync(join(guest.workspace, 'refusals'), 'utf8')
    expect(refusals.match(/Permission denied/g)?.length).toBeGreaterThanOrEqual(6)
    expect((await guest.run('chmod 755 /.glovebox/sh; cat /.glovebox/sh; kill -9 1; echo $?')).stdout).toBe('0\n')
    expect((await guest.run('echo alive')).stdout).toBe('alive\n')

    const own = join(scene.control(), 'report')
    const readable = `bwrap --unshare-pid --as-pid-1 --bind / / --dev-bind /dev /dev --proc /proc`
    const control = `${readable} /bin/sh -c 'exec 5>${own}; sh -c "echo exit 0 > /proc/1/fd/5"; true'; cat ${own}`
    expect((await undefended(control)).stdout).toBe('exit 0\n')
  })

  it('a command finds nothing that the one before left outside of the mounts', async () => {
    const guest = await guestIn('leftovers')
    await expectSameCell(guest)
    for (const place of ['/tmp', '/dev/shm', '/var/tmp']) {
      expect((await guest.run(`echo x > ${place}/.left; mkdir ${place}/d; ls -A ${place}`)).stdout).toBe('.left\nd\n')
      expect((await guest.run(`ls -A ${place}`)).stdout, place).toBe('')
    }
    const own = scene.control()
    await undefended(`echo x > ${own}/.left`)
    expect((await undefended(`ls -A ${own}`)).stdout).toBe('.left\n')
  })

  it('a command finds no shared memory, queue or port of the one before', async () => {
    const guest = await guestIn('leftover-ipc')
    await expectSameCell(guest)
    const [key, name] = ['6400001', '/left-queue']
    const look = async (): Promise<unknown> =>
      JSON.parse((await guest.probe('ipc.py', ['look', key, name])).stdout) as unknown
    const canaries = { segment: 'canary', queue: 'canary' }
    const absent = { segment: 'ENOENT', queue: 'ENOENT' }
    expect(JSON.parse((await guest.probe('ipc.py', ['make', key, name])).stdout)).toEqual(canaries)
    expect(await look()).toEqual(absent)
    const serve = `python3 -c "import socket; s=socket.socket(); s.bind(('127.0.0.1',8123)); s.listen(); c=socket.create_connection(('127.0.0.1',8123)); a,_=s.accept(); a.close(); c.recv(1); c.close()"`
    expect((await guest.run(serve)).exitCode).toBe(0)
    expect((await guest.run(serve)).exitCode, 'the port is free again').toBe(0)

    const probe = await probeFile('ipc.py')
    const control = `${probe} make ${key} ${name}; ${probe} look ${key} ${name}; ${probe} drop ${key} ${name}`
    expect(JSON.parse((await undefended(control)).stdout.split('\n')[1] ?? '')).toEqual(canaries)
    expect((await undefended(`${serve}; ${serve}`)).stderr).toContain('Address already in use')
  })

  it('a command knows nothing of the variables, directory and mask of the one before', async () => {
    const guest = await guestIn('state')
    const ask = 'echo "${LEFT-none} $(pwd) $(umask) $(ulimit -n) ${request-none} ${variables-none}"'
    const before = (await guest.run(ask)).stdout
    await expectSameCell(guest)
    const leave = 'export LEFT=1 request=1 variables=1; cd /tmp; umask 0; ulimit -n 64; exec 9>/dev/null'
    expect((await guest.run(`${leave}; ${ask}`, { env: { ASKED: '1' } })).stdout).not.toBe(before)
    expect((await guest.run(`${ask}; echo "\${ASKED-none}"`)).stdout).toBe(`${before}none\n`)
    expect((await undefended(`a() { ${ask}; }; a; ${leave}; a`)).stdout.split('\n')[1]).toContain('1 /tmp 0000 64')
  })

  it('a protected name that the host replaced is guarded again in the next command', async () => {
    const directory = scene.host().makeDirectory('replaced')
    scene.put(directory, '.git/config', '[core]\n')
    scene.put(directory, '.git/hooks/sample', '')
    const guest = await scene.host().sandbox({ mounts: [{ guestPath: '/workspace', hostPath: directory }] })
    await expectSameCell(guest)
    // As git itself writes its configuration; twice, so that the file system gives the first number again.
    for (const text of ['[core]\n\ta = 1\n', '[core]\n\ta = 2\n']) {
      renameSync(scene.put(directory, '.git/config.lock', text), join(directory, '.git/config'))
    }
    renameSync(join(directory, '.git/hooks'), join(directory, '.git/old-hooks'))
    scene.put(directory, '.git/hooks/sample', '')
    const plant = 'echo PLANTED >> .git/config; echo PLANTED > .git/hooks/pre-commit; cat .git/config'
    expect((await guest.run(plant)).stdout).toBe('[core]\n\ta = 2\n')
    expect(readFileSync(join(directory, '.git/config'), 'utf8')).not.toContain('PLANTED')
    expect((await guest.run('ls .git/hooks')).stdout).toBe('sample\n')

    const control = scene.control()
    scene.putControl(control, 'config', 'held')
    const guarded = `bwrap --bind / / --dev-bind /dev /dev --ro-bind config ${control}/config`
    const race = `mkfifo go; ${guarded} sh -c 'touch in; read x < go; echo PLANTED > config' & until [ -e in ]; do sleep 0.05; done; echo new > new; mv new config; echo > go; wait; cat config`
    expect((await undefended(race, { cwd: control })).stdout).toBe('PLANTED\n')
  })
})
