// `glovebox runs diff` on runs that really took place.
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Executor } from '../../src/contract/executor.ts'
import { makeRunGround, type RunGround } from './run-ground.ts'
import type { Finished } from './command-line.ts'

const { runs } = (await import(
  new URL('../../dist/index.js', import.meta.url).href
)) as typeof import('../../src/index.ts')

let ground: RunGround
let stateBefore: string | undefined

const work: Executor['execute'] = async ({ sandbox }) => {
  await sandbox.commands.run(
    'seq 1 20 > numbers; printf "one\\ntwo\\n" > text; mkdir src; echo same > src/a; printf "\\0x" > raw',
  )
  await sandbox.files.read('/workspace/text')
  await sandbox.commands.run(
    'sed -i "s/^10$/ten/" numbers; chmod +x text; mv src/a src/b; printf "\\0longer" > raw; false',
  )
  await sandbox.files.write('/deliverables/report.md', '# Report\n\u001b[2Jgone?\n')
  await sandbox.commands.run('rm text; ln -s numbers link')
  return { status: 'completed', summary: 'It is done.' }
}

beforeAll(async () => {
  ground = makeRunGround()
  stateBefore = process.env['GLOVEBOX_STATE_DIR']
  process.env['GLOVEBOX_STATE_DIR'] = join(ground.outside, 'state')
  await runs.start({ prompt: 'x', sandboxPath: ground.place('demo'), executor: { name: 'own', execute: work } })
})
afterAll(() => {
  if (stateBefore === undefined) delete process.env['GLOVEBOX_STATE_DIR']
  else process.env['GLOVEBOX_STATE_DIR'] = stateBefore
  ground.remove()
})

const diff = (...argv: readonly string[]): Promise<Finished> => ground.glovebox(['runs', 'diff', ...argv])

describe('glovebox runs diff', () => {
  it('shows what the whole run changed, file by file, with a sum', async () => {
    const { code, stdout, stderr } = await diff('demo', '--stat')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.split('\n')).toEqual([
      'A  deliverables/report.md  2 ++',
      'A  workspace/link          link to numbers',
      'A  workspace/numbers       20 ++++++++++++++++++++',
      'A  workspace/raw           binary, 7 bytes',
      'A  workspace/src/b         1 +',
      '5 created, +23',
      '',
    ])
  })

  it('shows the lines, with nothing in them that a terminal would obey', async () => {
    const { stdout } = await diff('demo')
    expect(stdout).toContain(`created  deliverables/report.md  +2\n+# Report\n+${String.raw`\u001b[2Jgone?`}\n`)
    expect(stdout.replaceAll(/[\t\n]/g, '')).not.toMatch(/\p{Cc}/u)
  })

  it('shows what each action changed, with the command above it', async () => {
    const { stdout } = await diff('demo', '--each')
    const parts = stdout.split(/^── /m).slice(1)
    expect(parts.map((part) => part.slice(0, part.indexOf('  ')))).toEqual(['1', '3', '4', '5'])
    expect(parts[1]).toContain('(exit 1)')
    expect(parts[1]).toContain('renamed  workspace/src/a → workspace/src/b\n')
    expect(parts[1]).toContain('changed  workspace/text\n  mode 644 → 755\n')
    expect(parts[1]).toContain('changed  workspace/raw\n  binary, 2 bytes → 7 bytes\n')
    expect(parts[1]).toContain('@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n')
    expect(parts[1]).toContain('3 changed, 1 renamed, +1 −1\n')
    expect(parts[3]).toContain('deleted  workspace/text  −2\n-one\n-two\n')
  })

  it('shows one action alone, and refuses one that there is not', async () => {
    expect((await diff('demo', '--action', '4', '--name-only')).stdout).toBe('deliverables/report.md\n')
    expect((await diff('demo', '--action', '2')).stdout).toContain('nothing changed')
    const missing = await diff('demo', '--action', '9')
    expect(missing.code).not.toBe(0)
    expect(missing.stderr).toContain('Cannot find action 9')
    expect(missing.stderr).toContain('hint: Its actions are 1 to 5')
  })

  it('speaks JSON', async () => {
    const whole = JSON.parse((await diff('demo', '--json')).stdout) as Record<string, unknown>
    expect(whole).toMatchObject({ complete: true, gaps: [], summary: { created: 5, added: 23 } })
    const each = (await diff('demo', '--each', '--json')).stdout.trimEnd().split('\n')
    expect(each.map((line) => (JSON.parse(line) as { number: number }).number)).toEqual([1, 3, 4, 5])
  })

  it('says of a run whose record was changed what it does not know', async () => {
    await ground.shell('torn', 'echo one > a')
    const place = join(ground.place('torn'), 'logs', 'actions', '000001', 'changes.json')
    writeFileSync(place, readFileSync(place, 'utf8').replace('workspace/a', 'workspace/b'))
    const { code, stdout, stderr } = await diff('torn')
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'nothing changed\n' })
    expect(stderr).toContain('it is not what it was when it was recorded')
    appendFileSync(join(ground.place('torn'), 'events.jsonl'), '{"seq":')
    expect((await diff('torn', '--json')).stdout).toContain('"complete":false')
  })
})
