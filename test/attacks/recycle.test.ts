// Tenants of one pool. What one leaves must not reach the next, whether its sandbox was made ahead, taken back or made anew; and whoever
// takes one that was made for nobody in particular gets what its own policy says, not what it was made with.
import { existsSync, lstatSync, readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { isGvisor, probeFile, starters, undefended } from './host.ts'
import { openAttackPool, type AttackPool, type Tenant } from './pool.ts'
import { attackScene } from './scene.ts'

const canary = 'canary-4f1c'
const [segment, queue, port] = ['6400002', '/tenant-queue', '8124']

/** All that a tenant can think of: files, start-up files, a crontab, shared memory, processes, a port, a socket without a name. */
const plants = [
  `echo ${canary} > /workspace/left`,
  `mkdir -p ~/.config/autostart ~/bin; for f in .bashrc .profile .bash_profile .zshenv .config/autostart/x; do echo "echo ${canary}; export LEFT=${canary}" > ~/$f; done`,
  `printf '#!/bin/sh\\necho ${canary}\\n' > ~/bin/ls; chmod +x ~/bin/ls`,
  `mkdir -p ~/cron && echo "* * * * * echo ${canary}" > ~/cron/tab; crontab ~/cron/tab`,
  `for p in /var/spool/cron/crontabs/agent /etc/cron.d/left /etc/profile.d/left.sh /etc/ld.so.preload /usr/local/bin/left; do echo ${canary} > $p; done`,
  `for d in /tmp /var/tmp /dev/shm /dev/mqueue /run /var/cache; do echo ${canary} > $d/left; done`,
  `git config --global core.pager ${canary}`,
  `(setsid sleep 300 ${canary} || setsid sh -c 'sleep 300; : ${canary}') </dev/null >/dev/null 2>&1 &`,
].join('\n')
const listener = `python3 -c "
import os, socket, sys, time
if os.fork(): sys.exit()
os.setsid()
a=socket.socket(); a.bind(('127.0.0.1',${port})); a.listen()
b=socket.socket(socket.AF_UNIX); b.bind('\\0${canary}'); b.listen()
time.sleep(300)"`

/** Written so that it does not find itself among what runs. */
const pattern = `[${canary[0]}]${canary.slice(1)}`
/** Everything that can be read, and all that runs. */
const look = [
  `grep -rsl '${pattern}' /workspace ~ /tmp /var/tmp /dev/shm /dev/mqueue /run /var/cache /var/spool /etc/cron.d /etc/profile.d /etc/ld.so.preload /usr/local/bin 2>/dev/null`,
  `crontab -l 2>/dev/null | grep '${pattern}'`,
  `bash -lic 'echo "$LEFT"' 2>/dev/null | grep '${pattern}'`,
  `env | grep '${pattern}'`,
  `cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ /proc/net/unix 2>/dev/null | tr '\\0' '\\n' | grep '${pattern}'`,
  `python3 -c "import socket; socket.create_connection(('127.0.0.1',${port}),1)" 2>/dev/null && echo connected`,
].join('; ')
const seenBy = async (tenant: Tenant): Promise<string> => (await tenant.run(look)).stdout

const forks = `python3 -c "
import os, time
n = 0
try:
    while n < 60:
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        n += 1
except OSError: pass
print(n)"`

describe.each(starters)('tenants of a pool, started by %s', (starter) => {
  const scene = attackScene(starter)
  let pool: AttackPool
  beforeAll(async () => {
    pool = await openAttackPool(scene.host(), {
      warm: 2,
      replicas: 4,
      policy: isGvisor ? {} : { ceilings: { network: { mode: 'full' } } },
    })
  })

  it('what one key leaves is not visible to another when a member is recycled', async () => {
    const victim = await pool.acquire('victim')
    await victim.run(plants)
    await victim.run(listener)
    await victim.probe('ipc.py', ['make', segment, queue])
    // What the first finds of its own shows that the look would find it elsewhere.
    expect(await seenBy(victim)).toMatch(/\/workspace\/left\n[^]*\.bashrc/)
    await victim.release()

    await pool.spares()
    const ahead = await pool.acquire('ahead')
    expect(ahead.wasSpare, 'one that was made ahead').toBe(true)
    expect(await seenBy(ahead)).toBe('')
    // Two more than there are places for with the victim in: it gives way, being the one that was used least lately.
    const others = [await pool.acquire('second'), await pool.acquire('third'), await pool.acquire('fourth')]
    for (const other of others) {
      expect(await seenBy(other)).toBe('')
      const found = JSON.parse((await other.probe('ipc.py', ['look', segment, queue])).stdout) as unknown
      expect(found).toEqual({ segment: 'ENOENT', queue: 'ENOENT' })
    }
    for (const tenant of [ahead, ...others]) await tenant.destroy()

    // The same key again finds its own files, and nothing that ran or was kept in memory.
    const back = await pool.acquire('victim')
    const own = await seenBy(back)
    expect(own).toContain('/workspace/left\n')
    expect(own).not.toMatch(/\/tmp\/left|\/dev\/shm\/left|\/dev\/mqueue|connected|sleep/)
    await back.destroy()
    const anew = await pool.acquire('victim')
    expect(await seenBy(anew), 'the same key after its end').toBe('')
    await anew.destroy()

    const control = scene.control()
    const shared = `export HOME=${control}; echo "export LEFT=${canary}" > ~/.bash_profile; bash -lic 'echo "$LEFT"'`
    expect((await undefended(shared, { cwd: control })).stdout).toContain(canary)
    const probe = await probeFile('ipc.py')
    const ipc = ['make', 'look', 'drop'].map((how) => `${probe} ${how} ${segment} ${queue}`).join('; ')
    expect((await undefended(ipc)).stdout.split('\n')[1]).toContain('canary')
  })

  it("a tenant's directories end with it, whether it was made ahead or not", async () => {
    await pool.spares()
    const tenants = [await pool.acquire('ended-1'), await pool.acquire('ended-2'), await pool.acquire('ended-3')]
    expect(tenants.map(({ wasSpare }) => wasSpare)).toContain(true)
    for (const tenant of tenants) {
      await tenant.run(`echo ${canary} > /workspace/left; echo ${canary} > ~/left`)
      const behind = lstatSync(tenant.directory).isSymbolicLink() ? readlinkSync(tenant.directory) : tenant.directory
      expect(existsSync(join(behind, 'workspace', 'left'))).toBe(true)
      await tenant.destroy()
      expect([tenant.directory, behind].filter((path) => existsSync(path))).toEqual([])
    }
    const { stateDirectory } = scene.host()
    const left = ['sandboxes', 'spares'].flatMap((name) => readdirSync(join(stateDirectory, name)))
    expect(left.filter((name) => tenants.some(({ id }) => name.includes(id)))).toEqual([])
  })

  it("a claim's variables are seen by its own commands only", async () => {
    await pool.spares()
    const holder = await pool.acquire('holder', { env: { HELD: canary } })
    expect(holder.wasSpare).toBe(true)
    expect((await holder.run('echo $HELD; env | grep -c HELD')).stdout).toBe(`${canary}\n1\n`)
    expect((await holder.run('cat /proc/1/environ /proc/1/cmdline | tr "\\0" "\\n" | grep -c canary-')).stdout).toBe(
      '0\n',
    )
    const other = await pool.acquire('not-holder', { env: { HELD_NOT: '1' } })
    expect(await seenBy(other)).toBe('')
    expect((await other.run('echo "${HELD-none} $HELD_NOT"')).stdout).toBe('none 1\n')
    await holder.release()
    const again = await pool.acquire('holder')
    expect((await again.run('echo $HELD')).stdout, 'a tenant keeps what it was made with').toBe(`${canary}\n`)
    await again.destroy()
    await other.destroy()
    expect((await undefended('HELD=seen sh -c "cat /proc/self/environ"')).stdout).toContain('HELD=seen')
  })

  it("a claim's narrower limits hold from its first command", async () => {
    const write = 'head -c 3000000 /dev/zero > /workspace/big 2>/dev/null; wc -c < /workspace/big'
    const eat = 'python3 -c "x=bytearray(300000000); print(len(x))"'
    await pool.spares()
    const plain = await pool.acquire('plain')
    // An ordinary user may not make groups on every host.
    const hasGroups = !isGvisor && plain.description.enforced.some(({ what }) => what === 'memory')
    await plain.destroy()
    await pool.spares()
    const grouped = hasGroups ? { memoryMb: 128, pids: 24 } : {}
    const narrow = await pool.acquire('narrow', { policy: { ...grouped, fileSizeMb: 1 } })
    expect(narrow.wasSpare, 'gVisor takes its limits when it starts').toBe(!isGvisor)
    expect((await narrow.run(write)).stdout).toBe('1048576\n')
    if (hasGroups) {
      expect(Number((await narrow.run(forks)).stdout)).toBeLessThan(24)
      expect((await narrow.run(eat)).stdout).toBe('')
    }
    // What reads an input is not started by the keeper.
    expect((await narrow.run(`rm -f /workspace/big; ${write}`, { stdin: 'x' })).stdout).toBe('1048576\n')
    await pool.spares()
    const wide = await pool.acquire('wide')
    expect((await wide.run(write)).stdout).toBe('3000000\n')
    expect((await wide.run(forks)).stdout).toBe('60\n')
    expect((await wide.run(eat)).stdout).toBe('300000000\n')
    for (const tenant of [narrow, wide]) await tenant.destroy()
  })

  it('a claim cannot ask a member for more than it was made with', async () => {
    await pool.spares()
    const waiting = await pool.spares()
    const more = await pool.acquire('more', { policy: { fileSizeMb: 4096 } })
    expect(more.wasSpare, 'made for it, and not handed out wider than it says').toBe(false)
    expect(more.description.policy.find(({ field }) => field === 'fileSizeMb')?.value).toBe(4096)
    await expect(pool.acquire('most', { policy: { fileSizeMb: 100_000 } })).rejects.toMatchObject({
      code: 'POLICY_ESCALATION',
    })
    expect(await pool.spares()).toBe(waiting)
    await more.destroy()
  })

  it('a claim for another network does not get one that was made without', async () => {
    await pool.spares()
    const open = await pool.acquire('open', { policy: { network: { mode: 'full' } } })
    expect(open).toMatchObject({ wasSpare: false, description: { networkMode: 'full' } })
    const shut = await pool.acquire('shut')
    expect(shut).toMatchObject({ wasSpare: true, description: { networkMode: 'none' } })
    const count = 'ls /sys/class/net /proc/sys/net/ipv4/conf 2>/dev/null | sort -u | wc -l; cat /proc/net/dev | wc -l'
    expect((await open.run(count)).stdout).not.toBe((await shut.run(count)).stdout)
    for (const tenant of [open, shut]) await tenant.destroy()
  })

  it('a guest cannot make or replace the names of Glovebox in a member', async () => {
    await pool.spares()
    const tenant = await pool.acquire('names')
    const before = readFileSync(join(tenant.workspace, 'glovebox.yaml'), 'utf8')
    const tries = [
      'echo "policy: {network: {mode: full}}" > glovebox.yaml',
      'rm -f glovebox.yaml; ln -s /etc/passwd glovebox.yaml',
      'mv glovebox.yaml x; mv .glovebox y; rm -rf .glovebox; mkdir .glovebox/z',
      'ln -s /etc .glovebox/link; echo planted > .glovebox/.gitignore',
    ]
    await tenant.run(tries.join('; '))
    expect(readFileSync(join(tenant.workspace, 'glovebox.yaml'), 'utf8')).toBe(before)
    expect(readdirSync(tenant.workspace).toSorted()).toEqual(['.glovebox', 'glovebox.yaml'])
    expect(readFileSync(join(tenant.workspace, '.glovebox', '.gitignore'), 'utf8')).toBe('*\n')
    await tenant.destroy()

    const control = scene.control()
    scene.putControl(control, 'glovebox.yaml', before)
    await undefended(tries[0] ?? '', { cwd: control })
    expect(readFileSync(join(control, 'glovebox.yaml'), 'utf8')).not.toBe(before)
  })
})
