import { PassThrough, Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import type { SpawnRequest } from '../../contract/backend.ts'
import type { GuestPath } from '../../contract/mount.ts'
import type { ChildEnd, SpawnedChild } from '../../process/spawn.ts'
import { openCell, type CellParts } from './cell.ts'
import type { CellEnd } from './cell-end.ts'
import { sweepLines } from './keeper.ts'

const request: SpawnRequest = { argv: ['cat'], cwd: '/' as GuestPath, env: {}, stdin: 'pipe' }

/** A docker that is not there. It ends when it is killed or told to, and notes which of the two it was. */
function fakeDocker(hears: (text: string, say: { out(text: string): void; err(text: string): void }) => void) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const say = { out: (text: string) => void stdout.write(text), err: (text: string) => void stderr.write(text) }
  let settle: (end: ChildEnd) => void = () => {}
  const ended = new Promise<ChildEnd>((resolve) => (settle = resolve))
  const kills: string[] = []
  const end = (how: ChildEnd): void => {
    stdout.end()
    stderr.end()
    settle(how)
  }
  const stdin = new Writable({
    write(chunk: Buffer, _, done) {
      hears(chunk.toString(), say)
      done()
    },
  })
  const child = {
    pid: undefined,
    stdin,
    stdout,
    stderr,
    pipes: [],
    report: null,
    outputDescriptors: [undefined, undefined],
    ended,
    kill(signal: NodeJS.Signals) {
      kills.push(signal)
      end({ code: null, signal })
    },
    unref() {},
    ref() {},
  } satisfies SpawnedChild
  return { child, kills, end, settle: (how: ChildEnd) => settle(how) }
}

const containers = { ranOutOfMemory: async () => false }
const cellEnd: CellEnd = { end: async () => {}, endRest: async () => {} }

const parts = (child: SpawnedChild, beside: SpawnedChild): CellParts => ({
  name: 'name',
  key: 'key',
  child,
  env: {},
  sight: [],
  containers,
  cellEnd,
  unlessAway: (begin) => begin(),
  mayBeOfMemory: () => true,
  startBeside: () => beside,
  startOnTerminal: () => beside,
})

const open = (child: SpawnedChild, beside: SpawnedChild) => openCell(parts(child, beside))

/** Answers as the keeper of a container does in which nothing runs, and in which memory has killed so many. */
const quietKeeper = (kills = () => 0) =>
  fakeDocker((text, say) => {
    const [mark = ''] = text.split('\n')
    const isSweep = text === sweepLines(mark)
    say.out(isSweep ? `${mark} exit 0 ${kills()}\n${mark} clean\n` : `${mark} ready 0\n`)
    say.err(isSweep ? `${mark} exit\n` : `${mark} ready\n`)
  })

describe('a cell', () => {
  it('lets go of a docker that waits on beside a container that is gone', async () => {
    const keeper = quietKeeper()
    const beside = fakeDocker(() => {})
    const cell = await open(keeper.child, beside.child)
    const { exit, stdout, stderr } = cell.run(request)
    for (const stream of [stdout, stderr]) stream.resume()
    expect(beside.kills).toEqual([])
    keeper.end({ code: 137, signal: null })
    expect(await exit).toHaveProperty('lost')
    await beside.child.ended
    expect(beside.kills).toEqual(['SIGKILL'])
  })

  it('hands on what its command said, however slowly it is taken, also when it is to end meanwhile', async () => {
    const said = 'x'.repeat(100_000)
    const keeper = fakeDocker((text, say) => {
      const [mark = '', line = ''] = text.split('\n')
      const isCommand = line.includes('cat')
      say.out(isCommand ? `${mark} exit 0 0\n${mark} clean\n` : `${mark} ready 0\n`)
      say.err(isCommand ? `${said}${mark} exit\n` : `${mark} ready\n`)
    })
    const cell = await openCell({
      ...parts(keeper.child, keeper.child),
      cellEnd: { ...cellEnd, end: async () => keeper.end({ code: 137, signal: null }) },
    })
    const { exit, stdout, stderr } = cell.run({ ...request, stdin: 'none' })
    stdout.resume()
    expect(await exit).toEqual({ code: 0 })
    // As the sandbox does that is killed now: a cell with nothing left to hand on would be asked to close.
    expect(cell.isAtWork()).toBe(true)
    cell.kill()
    let taken = ''
    for await (const chunk of stderr) taken += String(chunk)
    expect(taken).toBe(said)
    await cell.gone
    await expect.poll(() => cell.isAtWork()).toBe(false)
  })

  it('hears what docker still has in its pipe when it has ended', async () => {
    let mark = ''
    const beside = fakeDocker((text) => ([mark = ''] = text.split('\n')))
    const cell = await open(quietKeeper().child, beside.child)
    const { exit, stdout, stderr } = cell.run(request)
    for (const stream of [stdout, stderr]) stream.resume()
    beside.settle({ code: 0, signal: null })
    await new Promise((resolve) => setTimeout(resolve, 20))
    beside.child.stderr.end(`${mark} exit\n`)
    beside.child.stdout.end(`${mark} exit 3 0\n`)
    expect(await exit).toEqual({ code: 3 })
  })

  it('tells a command that memory has killed from one that was killed, though neither was run by the keeper', async () => {
    let kills = 1
    let answer = (): void => {}
    const beside = () => {
      const docker = fakeDocker((text, say) => {
        const [mark = ''] = text.split('\n')
        answer = () => {
          say.err(`${mark} exit\n`)
          say.out(`${mark} exit 137 0\n`)
        }
      })
      return docker.child
    }
    const { child } = quietKeeper(() => kills)
    const cell = await openCell({ ...parts(child, child), startBeside: beside })
    const ends = []
    for (const more of [1, 0, 1]) {
      const { exit, stdout, stderr } = cell.run(request)
      for (const stream of [stdout, stderr]) stream.resume()
      kills += more
      answer()
      ends.push((await exit).oomKilled ?? false)
      await cell.isFit()
    }
    expect(ends).toEqual([true, false, true])
  })
})
