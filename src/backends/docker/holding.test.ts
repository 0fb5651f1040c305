import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { platform } from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { holdingArguments, holdingScript, pipesIn, wordsLine } from './holding.ts'

describe.skipIf(platform !== 'linux')('the shell that holds the pipes of a lasting command [needs /dev/full]', () => {
  let ground: string
  let place: string
  beforeEach(() => {
    ground = mkdtempSync(join(tmpdir(), 'glovebox-holding-'))
    place = join(ground, 'place')
    mkdirSync(pipesIn(place), { recursive: true })
    writeFileSync(join(ground, 'running'), 'true\n')
  })
  afterEach(() => rmSync(ground, { recursive: true, force: true }))

  /** Docker's part is played by a script, which is told the three lines and says what it is asked to. */
  const hold = async (
    docker: string,
    { hasOwnPipes, under = [], reads = true }: { hasOwnPipes: boolean; under?: string[]; reads?: boolean },
  ) => {
    const file = join(ground, 'docker')
    const begin = hasOwnPipes
      ? ''
      : `[ "$1" = container ] && exec cat ${ground}/running\necho ${'a1'.repeat(32)} >${place}/id`
    writeFileSync(file, `#!/bin/sh\n${begin}\n${reads ? 'cat >/dev/null; ' : ''}cd ${place} || exit\n${docker}\n`)
    chmodSync(file, 0o755)
    const held = { hasOwnPipes, maxStdoutBytes: 1000, maxStderrBytes: 1000 }
    const words = [...under, '/bin/sh', '-c', holdingScript(held), file, ...holdingArguments(place, held)]
    const shell = spawn('env', words, { stdio: ['pipe', 'pipe', 'ignore'] })
    shell.stdin.end(`${wordsLine(['word'])}mark\nvariables\nrequest\n`)
    const said: Buffer[] = []
    shell.stdout.on('data', (bytes: Buffer) => said.push(bytes))
    await once(shell, 'close')
    return Buffer.concat(said).toString()
  }
  const statusOf = (): string => readFileSync(join(place, 'status'), 'utf8').trimEnd()
  const both = [
    { hasOwnPipes: true, say: 'echo hello >pipes/out', tell: 'echo "glovebox exit 7"', told: 'exit 7' },
    { hasOwnPipes: false, say: 'echo hello', tell: 'exit 7', told: '7' },
  ]

  it.each(both)('writes down the output and the end: $told', async ({ hasOwnPipes, say, tell, told }) => {
    await hold(`${say}; ${tell}`, { hasOwnPipes })
    expect([readFileSync(join(place, 'stdout'), 'utf8'), statusOf()]).toEqual(['hello\n', told])
  })

  it('writes down that memory ran out, where the first process of the container says so', async () => {
    await hold('echo "glovebox oom"; exit 137', { hasOwnPipes: true })
    expect(statusOf()).toBe('oom')
  })

  it('hands the command over when the daemon watches its memory, and never to one that is gone before', async () => {
    const running = join(ground, 'running')
    writeFileSync(running, 'false\n')
    const held = hold('echo hello', { hasOwnPipes: false })
    await expect.poll(() => existsSync(join(place, 'id'))).toBe(true)
    await pause(200)
    expect(readFileSync(join(place, 'stdout'), 'utf8')).toBe('')
    writeFileSync(running, 'true\n')
    await held
    expect([readFileSync(join(place, 'stdout'), 'utf8'), statusOf()]).toEqual(['hello\n', '0'])
    rmSync(place, { recursive: true })
    mkdirSync(pipesIn(place), { recursive: true })
    writeFileSync(running, 'false\n')
    // It ends without having read a word.
    await hold('exit 125', { hasOwnPipes: false, reads: false })
    expect(statusOf()).toBe('125')
  })

  it.each(both)(
    'keeps no more than it may, and says nothing of that: $told',
    async ({ hasOwnPipes, say, tell, told }) => {
      await hold(`for i in $(seq 1000); do ${say}; done; ${tell}`, { hasOwnPipes })
      expect([readFileSync(join(place, 'stdout')).length, statusOf()]).toEqual([1024, told])
    },
  )

  it.each(both)('says that the disk was full, whatever the command says: $told', async ({ hasOwnPipes, say, tell }) => {
    symlinkSync('/dev/full', join(place, 'stdout'))
    await hold(`${say}; ${tell}`, { hasOwnPipes })
    expect(statusOf()).toBe('full')
  })

  it.each(both)('says that output could not be kept: $told', async ({ hasOwnPipes, say, tell }) => {
    mkdirSync(join(place, 'stdout'))
    await hold(`${say}; ${tell}`, { hasOwnPipes })
    expect(statusOf()).toBe('fault')
  })

  it.skipIf(process.getuid?.() !== 0).each(both)(
    'writes the end down where there is no room left: $told [needs root]',
    async ({ hasOwnPipes, say, tell, told }) => {
      // In a mount namespace of its own, which goes with it.
      const script =
        'mount -t tmpfs -o size=64k,nr_inodes=64,mode=700 none "$0" && mkdir "$0/pipes" && "$@"; cat "$0/status"'
      const under = ['unshare', '-m', '--propagation', 'private', '/bin/sh', '-c', script, place]
      const fill = 'cat /dev/zero >fill 2>/dev/null'
      const fillNames = 'name=0; while touch "$name" 2>/dev/null; do name=$((name + 1)); done'
      expect((await hold(`${fill}; ${say}; ${tell}`, { hasOwnPipes, under })).trimEnd()).toBe('full')
      if (!hasOwnPipes) {
        // Docker has made a container and cannot start it, and there is room for no further name either.
        writeFileSync(join(ground, 'running'), 'false\n')
        const fail = `until [ -e stdout ] && [ -e stderr ]; do sleep 0.01; done; ${fill}; ${fillNames}; exit 125`
        expect((await hold(fail, { hasOwnPipes, under, reads: false })).trimEnd()).toBe('125')
        writeFileSync(join(ground, 'running'), 'true\n')
      }
      const fillLater = `${say}; until [ -s stdout ]; do sleep 0.01; done; ${fill}; ${tell}`
      expect((await hold(fillLater, { hasOwnPipes, under })).trimEnd()).toBe(told)
    },
  )
})
