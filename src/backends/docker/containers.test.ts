import { describe, expect, it } from 'vitest'
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
  return { containers: openContainers(cli, 'installation'), asked: () => asked }
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
