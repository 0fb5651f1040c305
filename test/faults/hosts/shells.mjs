// A program that uses persistent shells. Arguments: the scenario, the backend, the workspace, and what the scenario asks for.
// `held`: shells in which things run, until it is killed. `marathon`: many commands in one shell, then many shells at once.
import { chownSync, readdirSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Sandbox } from './dist/index.js'

const [scenario, backend, workspace, first, second] = process.argv.slice(2)
const guestOfDocker = 1000

if (backend === 'docker' && process.getuid() === 0) chownSync(workspace, guestOfDocker, guestOfDocker)
const create = () =>
  Sandbox.create({
    backend,
    mounts: [{ guestPath: '/workspace', hostPath: workspace }],
    // Fifty shells are some hundred processes.
    ...(backend === 'local' ? {} : { settings: { pids: 512 } }),
  })

async function held(mark) {
  const sandbox = await create()
  const tree = `(setsid sh -c 'exec -a ${mark} sleep 300' &) ; bash -c 'exec -a ${mark} sleep 300' & bash -c 'exec -a ${mark} sleep 300'`
  const [idle, ...busy] = await Promise.all([1, 2, 3].map(() => sandbox.shells.open()))
  await idle.exec(`setsid bash -c 'exec -a ${mark} sleep 300' </dev/null >/dev/null 2>&1 &`)
  for (const shell of busy) await shell.start(tree)
  writeSync(1, 'running\n')
  setInterval(() => {}, 1000)
}

const descriptors = () => readdirSync('/proc/self/fd').length

async function marathon(commands, shells) {
  const faults = []
  const expect = (what, is, should) => void (is === should || faults.push(`${what}: ${JSON.stringify(is)}`))
  // What the first use loads for good is loaded now.
  const first = await create()
  await (await first.shells.open()).close()
  await first.kill()
  const before = descriptors()

  const sandbox = await create()
  const shell = await sandbox.shells.open()
  await shell.exec('n=0')
  const startedMs = performance.now()
  for (let n = 0; n < commands; n += 1) {
    const { stdout, stderr, exitCode, state } = await shell.exec(
      'echo out $n; echo err $n >&2; n=$((n + 1)); (exit $((n % 7)))',
    )
    expect(`command ${n}`, `${stdout}${stderr}${exitCode}${state}`, `out ${n}\nerr ${n}\n${(n + 1) % 7}kept`)
    if (faults.length > 5) break
  }
  const perCommandMs = (performance.now() - startedMs) / commands
  const { stdout: children } = await shell.exec('ls /proc/$$/fd | wc -l; jobs | wc -l')
  await shell.close()

  const together = await Promise.all(Array.from({ length: shells }, () => sandbox.shells.open()))
  for (let round = 0; round < 3; round += 1) {
    const said = await Promise.all(
      together.map((each, at) => each.exec(`x=$((x + ${at})); printf %s $x; head -c 200000 /dev/zero >&2`)),
    )
    for (const [at, { stdout, stderrTotalBytes }] of said.entries())
      expect(`shell ${at} of ${shells}`, `${stdout} ${stderrTotalBytes}`, `${at * (round + 1)} 200000`)
  }
  await Promise.all(together.map((each) => each.close()))
  await sandbox.kill()
  // Pipes that somebody might still hold are read for a moment longer.
  for (let tries = 0; tries < 1500 && descriptors() > before; tries += 1) await sleep(20)
  const after = descriptors()
  process.stdout.write(JSON.stringify({ faults, perCommandMs, children, descriptors: { before, after } }))
}

if (scenario === 'held') await held(first)
else await marathon(Number(first), Number(second))
