// A bare bash over a pipe, with nothing around it: the least that a round trip can cost. It echoes a fixed word after each command.
import { spawn } from 'node:child_process'
import type { Contestant } from './interleave.ts'

export interface RawShell extends Disposable {
  run(command: string): Contestant
}

const word = 'end-of-the-command\n'

export function rawShell(): RawShell {
  const child = spawn('/bin/bash', ['--norc', '--noprofile'], { stdio: ['pipe', 'pipe', 'inherit'] })
  let heard = ''
  let tell = (): void => {}
  child.stdout.setEncoding('latin1').on('data', (text: string) => {
    heard += text
    if (!heard.endsWith(word)) return
    heard = ''
    tell()
  })
  return {
    run: (command) => () =>
      new Promise((resolve) => {
        tell = resolve
        child.stdin.write(`${command}\necho ${word}`)
      }),
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  }
}
