import { describe, expect, it } from 'vitest'
import type { Answer, DockerCli } from './cli.ts'
import { exitOfContainer } from './container-exit.ts'

const startedAt = '2026-11-16T12:00:00.5Z'

/** A daemon that tells of an end, and has an event of memory when it is asked for the n-th time. */
function daemonThatTells(end: string, { eventAt = Infinity } = {}) {
  const asked: (readonly string[])[] = []
  const eventsAsked = (): number => asked.filter(([verb]) => verb === 'events').length
  const cli: DockerCli = {
    async ask(args): Promise<Answer> {
      asked.push(args)
      const event = eventsAsked() >= eventAt ? 'container oom\n' : ''
      return { code: 0, stdout: args[0] === 'events' ? event : `${end} ${startedAt}\n`, stderr: '' }
    },
    startAside: () => expect.fail('nothing is to be started'),
    start: () => expect.fail('nothing is to be started'),
  }
  return { cli, asked, eventsAsked }
}

const said = (): string => ''

describe('the end of a container', () => {
  it('was for want of memory also where the daemon hears of it after the end', async () => {
    const { cli, asked } = daemonThatTells('exited 137 false', { eventAt: 2 })
    expect(await exitOfContainer(cli, 'name', { code: 137, said })).toEqual({ signal: 'SIGKILL', oomKilled: true })
    expect(asked.at(-1)).toEqual(expect.arrayContaining([`--since=${startedAt}`, 'container=name', 'event=oom']))
  })

  it('is asked for once where nothing was killed, or memory is named at once', async () => {
    const ended = daemonThatTells('exited 3 false')
    expect(await exitOfContainer(ended.cli, 'name', { code: 3, said })).toEqual({ code: 3 })
    const greedy = daemonThatTells('exited 137 true')
    expect(await exitOfContainer(greedy.cli, 'name', { code: 137, said })).toMatchObject({ oomKilled: true })
    expect([ended.asked.length, greedy.asked.length]).toEqual([1, 1])
  })

  it('of one that somebody killed is told as that, when it was asked often enough', async () => {
    const { cli, eventsAsked } = daemonThatTells('exited 137 false')
    expect(await exitOfContainer(cli, 'name', { code: 137, said })).toEqual({ signal: 'SIGKILL' })
    expect(eventsAsked()).toBeGreaterThan(3)
  })
})
