// Appends a line to a file that it shares with others, then replaces a word of that line; and counts up in a second file, by
// reading it and writing it back under the hash of what was read. It tells each change that was answered: a, r or c.
// Arguments: the workspace, a name of its own, how many lines.
import { writeSync } from 'node:fs'
import { Sandbox } from './dist/index.js'

const [workspace, name, times] = process.argv.slice(2)
const tell = (letter) => writeSync(1, letter)

const sandbox = await Sandbox.create({ mounts: [{ guestPath: '/workspace', hostPath: workspace, mode: 'rw' }] })

async function countUp() {
  for (;;) {
    const before = await sandbox.execute('read_text', { path: 'count', whole: true })
    const text = String(Number(before.text) + 1)
    try {
      return await sandbox.execute('write_text', { path: 'count', text, expectedSha256: before.sha256 })
    } catch (error) {
      if (error.code !== 'CONFLICT') throw error
    }
  }
}

for (let line = 0; line < Number(times); line += 1) {
  const mark = `${name} ${String(line).padStart(5, '0')}`
  await sandbox.execute('append_text', { path: 'lines', text: `${mark} new\n` })
  tell('a')
  await sandbox.execute('replace_text', { path: 'lines', oldText: `${mark} new\n`, newText: `${mark} done\n` })
  tell('r')
  if (line % 10 !== 0) continue
  await countUp()
  tell('c')
}
await sandbox.kill()
