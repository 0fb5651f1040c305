// A guest that swaps parts of its tree for links, and grows and cuts files, while it is looked at.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { changeSetSchema } from '../../src/contract/recorded-action.ts'
import { told, truth } from '../../src/runs/changes/ground.test-support.ts'
import { openChangeWatch } from '../../src/runs/changes/watch.ts'

const secret = 'nobody may read this'
const raceMs = 2000

const guest = `
const fs = require('node:fs')
process.chdir(process.argv[1])
fs.mkdirSync('real'); fs.writeFileSync('real/a', 'mine'); fs.symlinkSync('../outside', 'away')
const attempt = (work) => { try { work() } catch {} }
for (let round = 0; ; round++) {
  attempt(() => fs.renameSync('real', 'd')); attempt(() => fs.renameSync('d', 'real'))
  attempt(() => fs.renameSync('away', 'd')); attempt(() => fs.renameSync('d', 'away'))
  attempt(() => fs.writeFileSync('f', 'x'.repeat(round % 100000)))
  if (round % 50 === 0) { attempt(() => fs.rmSync('g', { recursive: true, force: true })); attempt(() => fs.mkdirSync('g/h', { recursive: true })); attempt(() => fs.writeFileSync('g/h/i', String(round))) }
}`

let directory: string
let child: ChildProcess
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'glovebox-race-'))
  for (const name of ['workspace', 'deliverables', 'archive', 'logs', 'outside']) mkdirSync(join(directory, name))
  writeFileSync(join(directory, 'outside', 'a'), secret)
  child = spawn(process.execPath, ['-e', guest, join(directory, 'workspace')], { stdio: 'ignore' })
})
afterEach(() => {
  child.kill('SIGKILL')
  rmSync(directory, { recursive: true, force: true })
})

/** What it would be without descriptors: the control, without which "nothing was read" would say nothing. */
function readsByName(): boolean {
  try {
    return readFileSync(join(directory, 'workspace', 'd', 'a'), 'utf8') === secret
  } catch {
    return false
  }
}

describe('a look at a tree that is being changed', () => {
  it('reads nothing outside of the tree, always answers, and sees the truth once there is peace', async () => {
    const watch = await openChangeWatch({ directory })
    let [looks, controls] = [0, 0]
    for (const end = performance.now() + raceMs; performance.now() < end || controls === 0 || looks <= 10; looks++) {
      changeSetSchema.parse(await watch.look({ concurrent: true }))
      for (let tries = 0; tries < 20; tries++) if (readsByName()) controls++
    }
    const blobs = join(directory, 'archive', 'blobs')
    const read = readdirSync(blobs).filter((name) => readFileSync(join(blobs, name), 'utf8') === secret)
    expect({ read, looks: looks > 10, controls: controls > 0 }).toEqual({ read: [], looks: true, controls: true })
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await ended
    expect(await watch.look()).toMatchObject({ complete: true, stopped: [] })
    expect(told(watch.manifest())).toEqual(truth(directory))
  })
})
