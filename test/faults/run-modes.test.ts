// What a guest does to the modes of its own files must not keep its run from ending. Root is never asked for a mode; so it is an ordinary
// user who starts the run.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { finished } from './finished.ts'
import { faultGround, type FaultGround } from './ground.ts'

let ground: FaultGround
beforeEach(() => {
  ground = faultGround('user')
})
afterEach(() => ground.remove())

describe.skipIf(process.platform !== 'linux')('a run of an ordinary user', () => {
  it.each([
    ['a directory that can be listed and not entered', 'mkdir -p d/e; chmod 600 d'],
    ['a directory that can be entered and not listed', 'mkdir -p d/e; chmod 300 d'],
    ['a workspace that can be listed and not entered', 'chmod 600 .'],
    ['deliverables that can be listed and not entered', 'mkdir /deliverables/d; chmod 600 /deliverables'],
  ])('ends with what its command said, and a manifest that says it is not whole, if it left %s', async (_, leave) => {
    const cwd = ground.makeDirectory('project')
    const argv = ['run', '--sandbox', 'run', '--prompt', 'Work.', '--', 'sh', '-c', `${leave}; exit 7`]
    const { code, stderr } = await finished(ground.startCli(argv, { cwd }))
    expect({ code, stderr }).toMatchObject({ code: 7 })
    const read = (name: string): unknown => JSON.parse(readFileSync(join(cwd, 'run', name), 'utf8'))
    expect(read('run.json')).toMatchObject({ status: 'failed' })
    expect(read('artifact-manifest.json')).toMatchObject({ complete: false, stopped: ['unreadable'] })
  })
})
