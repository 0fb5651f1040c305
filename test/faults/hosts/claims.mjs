// A program that takes a sandbox which its pool has laid ahead, and says before and after on standard output. Arguments: `claim` and a
// number n: it is killed before the n-th change that it makes to the disk while it takes it; or `next`, to find what one that was killed
// has left, use it, and clear it away.
import fs, { existsSync, readdirSync, writeSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { openProvider } from './dist/index.js'

const [what, nth] = process.argv.slice(2)
const spares = join(process.env['GLOVEBOX_STATE_DIR'], 'spares')
const tell = writeSync
const say = (word) => tell(1, `${word}\n`)
const [first, second] = ['first', 'second'].map((thread) => ({ user: 'claims', thread }))
const provider = await openProvider({ backend: 'bwrap' })
const run = async (id, command) => (await provider.get(id).commands.run(command)).stdout

function killBefore(change) {
  let count = 0
  for (const name of [
    'renameSync',
    'linkSync',
    'unlinkSync',
    'symlinkSync',
    'mkdirSync',
    'writeFileSync',
    'writeSync',
  ]) {
    const real = fs[name]
    fs[name] = (...args) => {
      count += 1
      if (count === change) process.kill(process.pid, 'SIGKILL')
      return real(...args)
    }
  }
  syncBuiltinESMExports()
}

if (what === 'claim') {
  await run(await provider.acquire(first), 'true')
  while (!existsSync(spares) || readdirSync(spares).length < 2) await delay(20)
  // The last of them is whole by then, and nothing else goes on.
  await delay(300)
  killBefore(Number(nth))
  const id = await provider.acquire(second)
  say(readdirSync(spares).length === 2 ? 'claimed' : 'made cold')
  await run(id, 'echo kept > /workspace/note')
} else {
  const id = await provider.acquire(second)
  say((await run(id, 'touch /workspace/again && echo usable')).trim())
  for (const key of [first, second]) await provider.destroy(await provider.acquire(key))
}
await provider.shutdown()
process.exit(0)
