// Another user of the machine looks for a shell that was left, to come back to it in its owner's place. Its keeper is a process of the host,
// whatever the shell runs on.
import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { holdShell } from '../../src/runtime/held/hold.ts'
import { describeAsRoot } from './describe-where.ts'

describeAsRoot('a shell that was left', () => {
  it('a shell that was left can be come back to by nobody else', async () => {
    const place = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-left-')))
    chmodSync(place, 0o755)
    const directory = join(place, 'state', 'shells')
    mkdirSync(join(place, 'state'), { mode: 0o755 })
    process.env['GLOVEBOX_STATE_DIR'] = join(place, 'state')
    const ending = new AbortController()
    let onReady = (): void => {}
    const ready = new Promise<void>((resolve) => (onReady = resolve))
    const open = (): Promise<never> => Promise.reject(new Error('nobody was to come so far'))
    const held = holdShell({ id: 'sh_left', directory: place, open, onReady, signal: ending.signal })
    try {
      await ready
      const socket = join(directory, 'sh_left.sock')
      expect([statSync(directory).mode & 0o777, statSync(socket).isSocket()]).toEqual([0o700, true])
      // A socket that lies beside, and that everybody may use, they reach.
      const beside = join(place, 'open.sock')
      const server = createServer((visitor) => visitor.end()).listen(beside)
      await new Promise((resolve) => server.once('listening', resolve))
      chmodSync(beside, 0o666)
      expect(await dialAsStranger(beside), 'control').toBe('CONNECTED')
      expect(await dialAsStranger(socket)).toBe('EACCES')
      await new Promise((resolve) => server.close(resolve))
    } finally {
      ending.abort()
      await held
      expect(readdirSync(directory)).toEqual([])
      rmSync(place, { recursive: true, force: true })
    }
  })
})

function dialAsStranger(path: string): Promise<string> {
  const code = `require('node:net').connect(process.argv[1])
    .on('connect', () => { console.log('CONNECTED'); process.exit() })
    .on('error', ({ code }) => console.log(code))`
  const stranger = { uid: 65_534, gid: 65_534 }
  const stdio = ['ignore', 'pipe', 'inherit'] as const
  const child = spawn(process.execPath, ['-e', code, path], { cwd: '/', stdio: [...stdio], ...stranger })
  let said = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (said += text))
  return new Promise((resolve) => child.once('close', () => resolve(said.trim())))
}
