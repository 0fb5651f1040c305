// A program whose sandboxes have workspaces of many owners: for each, the kernel must be told anew whose files they are. Arguments: a directory
// to make them in, and how many. Tells what each was answered.
import { chownSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Sandbox } from './dist/index.js'

const [directory, count] = process.argv.slice(2)
const answers = []
for (let index = 0; index < Number(count); index += 1) {
  const hostPath = join(directory, `of-${index}`)
  mkdirSync(hostPath)
  chownSync(hostPath, 3000 + index, 3000 + index)
  try {
    const sandbox = await Sandbox.create({ mounts: [{ guestPath: '/workspace', hostPath, mode: 'rw' }] })
    const { stdout } = await sandbox.commands.run('touch mine && echo in')
    answers.push(stdout.trim())
    await sandbox.kill()
  } catch (error) {
    answers.push(`${error.message} (${error.operatorDetail})`)
  }
}
process.stdout.write(`${JSON.stringify(answers)}\n`)
