// A program that makes sandboxes under bad conditions and tells what it was answered. Arguments: workspace, how many to
// make, and, to run short of descriptors, how many of those that this process may have are left over.
import { closeSync, openSync, readdirSync, readlinkSync } from 'node:fs'
import { Sandbox, isGloveboxError } from './dist/index.js'

const [workspace, times, spare] = process.argv.slice(2)
/** But for event loops and modules: Node itself loses that of a thread which it cannot start for want of descriptors, and the files that such
 * a thread was about to load. */
const open = () => readdirSync('/proc/self/fd').filter((name) => !/eventpoll|\/dist\/.*\.js$/.test(linkOf(name))).length
const linkOf = (name) => {
  try {
    return readlinkSync(`/proc/self/fd/${name}`)
  } catch {
    return ''
  }
}
const answers = []
const sandboxes = []
const told = (error) =>
  isGloveboxError(error)
    ? { code: error.code, message: error.message, hint: error.hint }
    : { code: 'NOT OURS', message: error instanceof Error ? (error.stack ?? error.message) : String(error) }

/** Streams and threads close a moment after their end: how many are open when there have been no fewer for half a second; or, where there
 * were as many before, as soon as there are, and at the latest after two seconds. */
async function settled(before) {
  let [least, still] = [open(), 0]
  const longEnough = before === undefined ? 10 : 40
  while (still < longEnough && least !== before) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    const now = open()
    still = now < least ? 0 : still + 1
    least = Math.min(least, now)
  }
  return least
}

/** Takes every descriptor there is, and lets go of the last few. */
function takeAllBut(count) {
  const taken = []
  try {
    for (;;) taken.push(openSync('/dev/null'))
  } catch {
    for (const descriptor of taken.splice(-count)) closeSync(descriptor)
  }
  return taken
}

async function attempt() {
  try {
    const sandbox = await Sandbox.create({ mounts: [{ guestPath: '/workspace', hostPath: workspace, mode: 'rw' }] })
    sandboxes.push(sandbox)
    const { stdout } = await sandbox.commands.run('echo in')
    answers.push({ code: 'done', message: stdout })
  } catch (error) {
    answers.push(told(error))
  }
}

if (spare !== undefined) {
  // Once without want, so that everything is loaded.
  await attempt()
  await sandboxes.pop().kill()
}
const before = await settled()
const taken = spare === undefined ? [] : takeAllBut(Number(spare))
for (let index = 0; index < Number(times); index += 1) await attempt()
for (const descriptor of taken) closeSync(descriptor)
const ends = await Promise.allSettled(sandboxes.map((sandbox) => sandbox.kill()))
const after = await settled(before)
const unkilled = ends.flatMap((end) => (end.status === 'rejected' ? [String(end.reason)] : []))
process.stdout.write(`${JSON.stringify({ answers, unkilled, before, after })}\n`)
