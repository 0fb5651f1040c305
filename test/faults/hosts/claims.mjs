// A program that takes a sandbox which its pool has laid ahead, and says before and after on standard output. Arguments: `claim` and a
// number n: it is killed before the n-th change that it makes to the disk while it takes it; or `next`, to find what one that was killed
// has left, use it, and clear it away.
import fs, { existsSync, readdirSync, readlinkSync, writeSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { openProvider } from './dist/index.js'

const [what, nth] = process.argv.slice(2)
const state = process.env['GLOVEBOX_STATE_DIR']
const spares = join(state, 'spares')
const tell = writeSync
const say = (word) => tell(1, `${word}\n`)
const [first, second] = ['first', 'second'].map((thread) => ({ user: 'claims', thread }))
const provider = await openProvider({ backend: 'bwrap' })
const run = async (id, command) => (await provider.get(id).commands.run(command)).stdout

/** What goes away meanwhile has none. A link is a name: some lead to their own directory. */
function namesBelow(directory) {
  try {
    const entries = readdirSync(directory, { withFileTypes: true })
    return entries.flatMap((each) => [each.name, ...(each.isDirectory() ? namesBelow(join(directory, each.name)) : [])])
  } catch {
    return []
  }
}

/** Of one that was laid ahead; of another none. */
function placeOf(id) {
  try {
    return basename(readlinkSync(join(state, 'sandboxes', id)))
  } catch {
    return undefined
  }
}

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
  // Until the last of them is whole, and nothing else goes on.
  for (let [before, still] = ['', 0]; still < 8; await delay(50)) {
    const now = namesBelow(state).join()
    still = now === before ? still + 1 : 0
    before = now
  }
  const laid = readdirSync(spares)
  killBefore(Number(nth))
  const id = await provider.acquire(second)
  // By whose place it has: the next one may be laid already.
  say(laid.includes(placeOf(id)) ? 'claimed' : 'made cold')
  await run(id, 'echo kept > /workspace/note')
} else {
  const id = await provider.acquire(second)
  say((await run(id, 'touch /workspace/again && echo usable')).trim())
  for (const key of [first, second]) await provider.destroy(await provider.acquire(key))
}
await provider.shutdown()
process.exit(0)
