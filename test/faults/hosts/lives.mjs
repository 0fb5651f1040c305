// A program that uses the library until it is killed: it makes sandboxes, runs commands in them, and ends them, over and
// over, and says on standard output what it is about to do. Arguments: the workspace, a word for the guest's command line.
import { writeSync } from 'node:fs'
import { Sandbox } from './dist/index.js'

const [workspace, mark] = process.argv.slice(2)
const say = (moment) => writeSync(1, `${moment}\n`)

say('loaded')
for (;;) {
  say('creating')
  const sandbox = await Sandbox.create({ mounts: [{ guestPath: '/workspace', hostPath: workspace, mode: 'rw' }] })
  say('short command')
  await sandbox.commands.run(['/bin/true'])
  say('long command')
  const tree = `(setsid sleep 300 &) ; sleep 300 & exec -a ${mark} sleep 300`
  const options = { timeoutMs: 150 + Math.round(Math.random() * 150) }
  await Promise.all([sandbox.commands.run(tree, options), sandbox.files.write('/workspace/written', mark)])
  say('ending')
  await sandbox.kill()
}
