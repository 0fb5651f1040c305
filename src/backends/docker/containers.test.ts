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
  return { containers: openContainers(cli, { installation: 'installation' }), asked: () => asked }
}

describe('whether a container ran out of memory', () => {
  it('is asked again where it was killed, since the daemon may hear of its memory after its end', async () => {
    const { containers } = daemonThatTellsAt(2)
    const end = { startedMs: Date.now(), code: 137, mayBeOfMemory: () => true, isWaitedFor: () => true }
    expect(await containers.ranOutOfMemory('name', end)).toBe(true)
  })

  it('is asked once where it ended in another way', async () => {
    const { containers, asked } = daemonThatTellsAt(2)
    const end = { startedMs: Date.now(), code: 1, mayBeOfMemory: () => true, isWaitedFor: () => true }
    expect(await containers.ranOutOfMemory('name', end)).toBe(false)
    expect(asked()).toBe(1)
  })
})

describe('a container whose memory only the daemon watches', () => {
  /** As the daemon says at one question after the other; the last for ever. */
  const containersThatAre = (...says: readonly string[]) => {
    let asked = 0
    const cli: DockerCli = {
      ask: async () => ({ code: 0, stdout: says[Math.min(asked++, says.length - 1)] ?? '', stderr: '' }),
      startAside: () => expect.fail('nothing is to be started'),
      start: () => expect.fail('nothing is to be started'),
    }
    return { containers: openContainers(cli, { installation: 'installation' }), asked: () => asked }
  }
  const id = 'a1'.repeat(32)

  it('is watched from when the daemon says that it runs, and not before', async () => {
    const { containers, asked } = containersThatAre('', `0 ${id}\n`, `0 ${id}\n`, `42 ${id}\n`)
    await containers.untilWatched('name', new Promise(() => {}))
    expect(asked()).toBe(4)
  })

  it('is waited for no longer when it is gone', async () => {
    await containersThatAre(`0 ${id}\n`).containers.untilWatched('name', Promise.resolve())
  })
})

describe('the containers of an installation', () => {
  it('are not taken for gone where the daemon does not tell them', async () => {
    const away: Answer = { code: 1, stdout: '', stderr: 'Cannot connect to the Docker daemon' }
    const cli: DockerCli = {
      ask: () => Promise.resolve(away),
      startAside: () => expect.fail('nothing is to be started'),
      start: () => expect.fail('nothing is to be started'),
    }
    const containers = openContainers(cli, { installation: 'installation' })
    await expect(containers.list()).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' })
  })

  const inProgress = 'Error response from daemon: removal of container one is already in progress'
  const gone = 'Error: No such container: one'
  /** A daemon that has one container, and says this each time that it is to remove it, the last for ever. */
  const containersThatSay = (...says: readonly string[]) => {
    let asked = 0
    const cli: DockerCli = {
      async ask([verb]): Promise<Answer> {
        if (verb === 'ps') return { code: 0, stdout: 'one\tsbx_0123456789\t\t\n', stderr: '' }
        return { code: 1, stdout: '', stderr: says[Math.min(asked++, says.length - 1)] ?? '' }
      },
      startAside: () => expect.fail('nothing is to be started'),
      start: () => expect.fail('nothing is to be started'),
    }
    return openContainers(cli, { installation: 'installation', removalMs: 200 })
  }

  it('are not taken for gone either where it has not removed them', async () => {
    const containers = containersThatSay('Error response from daemon: device or resource busy')
    await containers.removeOf('sbx_9876543210')
    await expect(containers.removeOf('sbx_0123456789')).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' })
    await containersThatSay(gone).removeOf('sbx_0123456789')
  })

  it('that somebody else is removing are waited for, as long as any other', async () => {
    await containersThatSay(inProgress, inProgress, gone).removeOf('sbx_0123456789')
    await expect(containersThatSay(inProgress).removeOf('sbx_0123456789')).rejects.toMatchObject({
      code: 'BACKEND_UNAVAILABLE',
    })
  })
})
