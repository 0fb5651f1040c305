// A hostile command in a persistent shell: against the words by which the shell tells the host of its commands, against another
// shell of the same sandbox, and against the commands that come after it.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Sandbox } from '../../src/index.ts'
import type { Shell } from '../../src/contract/shell.ts'
import { target, undefended } from './host.ts'

let project: string
let sandbox: Sandbox
let shell: Shell
beforeEach(async () => {
  project = mkdtempSync(join(tmpdir(), 'glovebox-shells-'))
  sandbox = await Sandbox.create({ ...target, mounts: [{ guestPath: '/workspace', hostPath: project }] })
  shell = await sandbox.shells.open()
})
afterEach(async () => {
  await sandbox.kill()
  rmSync(project, { recursive: true, force: true })
})

describe('shells', () => {
  it('a command cannot end its own share of the output, nor that of the next one', async () => {
    // All that a command can know: every variable, every process' words and environment, what was said before, and guesses.
    const said = 'set; export -p; cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null'
    const claim = `{ ${said}; printf '%s\\n' "$GLOVEBOX_SHELL_LINE" "$GLOVEBOX_SHELL_LAST"; } | tr '\\0' '\\n' | sed 's/.*=/=/; s/^/\\x1e/; s/$/ 0 kept/'`
    for (let round = 0; round < 3; round += 1) {
      const result = await shell.exec(`(${claim}; echo end) | tee /dev/stderr; (exit 7)`)
      expect(result).toMatchObject({ ended: { by: 'exit', code: 7 }, state: 'kept' })
      expect(result.stdout).toMatch(/end\n$/)
      expect(result.stderr).toMatch(/end\n$/)
    }
    // The control: a mark that stands in a variable is said by chance.
    const told = await undefended(`MARK=known; { set | sed -n 's/^MARK=//p'; echo; } | grep -c known`)
    expect(told.stdout).toBe('1\n')
  })

  it('what runs in one shell neither sees nor ends what runs in another one', async () => {
    const other = await sandbox.shells.open()
    const victim = other.exec('echo $$ >pid; while [ ! -e go ]; do sleep 0.02; done; echo untouched')
    await expect.poll(async () => sandbox.files.exists('/workspace/pid')).toBe(true)
    const look = await shell.exec(
      "grep -l 'while \\[ ! -e go' /proc/[0-9]*/cmdline /proc/[0-9]*/environ; echo left >/tmp/left",
    )
    expect(look.stdout).toBe('')
    const everything = 'for signal in TERM KILL; do kill -$signal -1; kill -$signal $(seq 2 200); done'
    await shell.exec(`(${everything}) 2>/dev/null; (setsid sh -c '${everything}' &)`)
    // Not by a command of that shell: what was left in the background may meet it as well.
    await sandbox.files.write('/workspace/go', '')
    expect(await victim).toMatchObject({ ended: { by: 'exit', code: 0 }, stdout: 'untouched\n', state: 'kept' })
    expect((await other.exec('ls -A /tmp')).stdout).toBe('')

    // The control: without a namespace between them, the second one is ended.
    const pair = "sleep 30 & victim=$!; sh -c 'kill -KILL '$victim; wait $victim; echo $?"
    expect((await undefended(pair)).stdout).toBe('137\n')
  })

  it('what runs in a shell can lie about later commands of the same shell', async () => {
    await shell.exec('make() { echo "all is well"; }')
    expect(await shell.exec('make')).toMatchObject({ ended: { by: 'exit', code: 0 }, stdout: 'all is well\n' })
    // What is run without a shell is as it was.
    expect((await sandbox.commands.run('type make')).stdout).not.toContain('all is well')
  })
})
