import { describe, expect, it } from 'vitest'
import type { ChildEnd, SpawnedChild } from '../../process/spawn.ts'
import { openCellEnd } from './cell-end.ts'
import type { Answer, Asking, DockerCli } from './cli.ts'
import type { Doomed } from './ending.ts'

const killedByDaemon: ChildEnd = { code: 137, signal: null }

interface Given {
  /** What the daemon says to a `docker kill`, which may end the docker that holds the pipes. */
  readonly answer: (end: (how: ChildEnd) => void) => Partial<Answer>
  readonly id?: string
  readonly keepsEnded?: boolean
  readonly closedForMs?: number
}

function ground({ answer, id, keepsEnded = false, closedForMs = Infinity }: Given) {
  const asked: string[] = []
  const doomed: Doomed[] = []
  const askings: Asking[] = []
  let end: (how: ChildEnd) => void = () => {}
  const ended = new Promise<ChildEnd>((resolve) => (end = resolve))
  const cli: DockerCli = {
    async ask([verb = ''], asking = {}): Promise<Answer> {
      asked.push(verb)
      askings.push(asking)
      return { code: 1, stdout: '', stderr: '', ...answer(end) }
    },
    startAside: () => expect.fail('nothing is to be started'),
    start: () => expect.fail('nothing is to be started'),
  }
  const child = { ended, kill: (signal: string) => void asked.push(signal) } as unknown as SpawnedChild
  const begin = (one: Doomed) => {
    asked.push('ending')
    doomed.push(one)
    return { tried: Promise.resolve(true), gone: Promise.resolve(true) }
  }
  const circuit = { closedForMs: () => closedForMs } as Parameters<typeof openCellEnd>[0]['docker']['circuit']
  const cellEnd = openCellEnd({
    name: 'name',
    child,
    docker: { cli, circuit },
    endings: { begin },
    id: () => id,
    keepsEnded,
  })
  return { cellEnd, asked, askings, doomed, end }
}

/** As a daemon that answers does. */
const answers: Given['answer'] = (end) => {
  end(killedByDaemon)
  return { code: 0 }
}

describe('the end of a container of a cell', () => {
  it('is one question to a daemon that answers, where Docker removes it', async () => {
    const { cellEnd, asked } = ground({ answer: answers })
    await cellEnd.end()
    expect(asked).toEqual(['kill'])
  })

  it('is removed after it, where Docker does not do that', async () => {
    const { cellEnd, asked } = ground({ answer: answers, keepsEnded: true })
    await cellEnd.end()
    expect(asked).toEqual(['kill', 'ending'])
  })

  it('asks nothing where it has come already', async () => {
    const { cellEnd, asked, end } = ground({ answer: () => expect.fail('nobody is to be asked') })
    end({ code: 0, signal: null })
    await cellEnd.end()
    expect(asked).toEqual([])
  })

  it('of one that is just being made is asked for until it is there', async () => {
    let questions = 0
    const { cellEnd, asked } = ground({ answer: (end) => (++questions < 3 ? { code: 1 } : answers(end)) })
    await cellEnd.end()
    expect(asked).toEqual(['kill', 'kill', 'kill'])
  })

  it('is brought about without the daemon where that does not answer, when docker has been let go of', async () => {
    const { cellEnd, asked, askings, doomed } = ground({ answer: () => ({ code: null, isAway: true }), id: 'id' })
    await cellEnd.end()
    expect(asked).toEqual(['kill', 'SIGKILL', 'ending'])
    expect(askings).toMatchObject([{ unlessAway: true }])
    expect(doomed.map((one) => [one.name, one.id(), one.isInMaking()])).toEqual([['name', 'id', false]])
  })

  it('is brought about without the daemon where docker has lost its hold, which says nothing of the container', async () => {
    for (const how of [
      { code: 125, signal: null },
      { code: null, signal: 'SIGKILL' },
    ] as const) {
      const { cellEnd, asked, doomed, end } = ground({ answer: () => ({ code: 1 }), id: 'id' })
      end(how)
      await cellEnd.end()
      expect(asked).toEqual(['SIGKILL', 'ending'])
      expect(doomed).toHaveLength(1)
    }
  })

  it('is not certain while the daemon may still make what it was asked for', async () => {
    const isAway: Given['answer'] = () => ({ code: null, isAway: true })
    const { cellEnd, doomed } = ground({ answer: isAway, closedForMs: 0 })
    await cellEnd.end()
    expect(doomed.map((one) => one.isInMaking())).toEqual([true])
    // Docker itself has been told that there is none.
    const refused = ground({ answer: isAway })
    await refused.cellEnd.endRest()
    expect(refused.doomed.map((one) => one.isInMaking())).toEqual([false])
  })
})
