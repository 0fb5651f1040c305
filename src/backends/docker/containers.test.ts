import { describe, expect, it } from 'vitest'
import type { ChildEnd, SpawnedChild } from '../../process/spawn.ts'
import type { Answer, DockerCli } from './cli.ts'
import { openContainers } from './containers.ts'

/** A daemon that tells of what it was asked for at the given question, and never before. */
function daemonThatTellsAt(question: number) {
  let asked = 0
  const cli: DockerCli = {
    async ask(): Promise<Answer> {
      asked += 1
      return { code: 0, stdout: asked >= question ? 'container oom\n' : '', stderr: '' }
    },
    startAside: () => expect.fail('nothing is to be started'),
    start: () => expect.fail('nothing is to be started'),
  }
  return { containers: openContainers(cli, { installation: 'installation', keepsEnded: false }), asked: () => asked }
}

describe('whether a container ran out of memory', () => {
  it('is asked again where it was killed, since the daemon may hear of its memory after its end', async () => {
    const { containers } = daemonThatTellsAt(2)
    expect(await containers.ranOutOfMemory('name', { startedMs: Date.now(), code: 137 })).toBe(true)
  })

  it('is asked once where it ended in another way', async () => {
    const { containers, asked } = daemonThatTellsAt(2)
    expect(await containers.ranOutOfMemory('name', { startedMs: Date.now(), code: 1 })).toBe(false)
    expect(asked()).toBe(1)
  })
})

describe('a container that is ended', () => {
  /** What the daemon is asked, one after another, until its container has ended with the first kill. */
  async function askedToEnd(keepsEnded: boolean) {
    const asked: (string | undefined)[] = []
    let over: (end: ChildEnd) => void = () => {}
    const ended = new Promise<ChildEnd>((resolve) => (over = resolve))
    const cli: DockerCli = {
      async ask([verb]): Promise<Answer> {
        asked.push(verb)
        if (verb === 'kill') over({ code: 137, signal: null })
        return { code: 0, stdout: '', stderr: '' }
      },
      startAside: () => expect.fail('nothing is to be started'),
      start: () => expect.fail('nothing is to be started'),
    }
    const containers = openContainers(cli, { installation: 'installation', keepsEnded })
    await containers.end('name', { ended } as SpawnedChild)
    return asked
  }

  it('is removed, where Docker does not do that', async () => {
    expect(await askedToEnd(true)).toEqual(['kill', 'rm'])
  })

  it('is left to Docker, where it does', async () => {
    expect(await askedToEnd(false)).toEqual(['kill'])
  })
})
