import { PassThrough, Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import type { SpawnRequest } from '../../contract/backend.ts'
import type { GuestPath } from '../../contract/mount.ts'
import type { ChildEnd, SpawnedChild } from '../../process/spawn.ts'
import { openCell } from './cell.ts'
import type { Containers } from './containers.ts'

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

const containers: Containers = {
  labels: () => ({}),
  ranOutOfMemory: async () => false,
  limit: async () => {},
  end: async () => {},
  endHere: () => {},
  find: async () => undefined,
  remove: async () => {},
  list: async () => [],
}

const open = (child: SpawnedChild, beside: SpawnedChild) =>
  openCell({
    name: 'name',
    key: 'key',
    child,
    env: {},
    containers,
    startBeside: () => beside,
    startOnTerminal: () => beside,
  })

/** Answers as the keeper of a container does in which nothing runs. */
const quietKeeper = () =>
  fakeDocker((text, say) => {
    const [mark, line] = text.split('\n')
    const isSweep = line === 'exit 0'
    say.out(isSweep ? `${mark} exit 0 0\n${mark} clean\n` : `${mark} ready 0\n`)
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
})
