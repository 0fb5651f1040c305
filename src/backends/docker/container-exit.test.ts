import { describe, expect, it } from 'vitest'
import type { Answer, DockerCli } from './cli.ts'
import { exitOfContainer } from './container-exit.ts'

const startedAt = '2026-11-16T12:00:00.5Z'

/** A daemon that tells of an end, and has an event of memory when it is asked for the n-th time. */
function daemonThatTells(end: string, { eventAt = Infinity, version = '28.2.2' } = {}) {
  const asked: (readonly string[])[] = []
  const eventsAsked = (): number => asked.filter(([verb]) => verb === 'events').length
  const cli: DockerCli = {
    async ask(args): Promise<Answer> {
      asked.push(args)
      const event = eventsAsked() >= eventAt ? 'container oom\n' : ''
      const told = { events: event, version: `${version}\n` }[args[0] ?? ''] ?? `${end} ${startedAt}\n`
      return { code: 0, stdout: told, stderr: '' }
    },
    startAside: () => expect.fail('nothing is to be started'),
    start: () => expect.fail('nothing is to be started'),
  }
  return { cli, asked, eventsAsked }
}

const usual = {
  said: () => '',
  isWhole: false,
  wasMade: true,
  isWaitedFor: () => false,
  mayBeOfMemory: () => true,
}

describe('the end of a container', () => {
  it('was for want of memory also where the daemon hears of it after the end', async () => {
    const { cli, asked } = daemonThatTells('exited 137 false', { eventAt: 2 })
    const end = { code: 137, ...usual, isWaitedFor: () => true }
    expect(await exitOfContainer(cli, 'name', end)).toEqual({ signal: 'SIGKILL', oomKilled: true })
    expect(asked.at(-1)).toEqual(expect.arrayContaining([`--since=${startedAt}`, 'container=name', 'event=oom']))
  })

  it('is asked for once where nothing was killed, or memory is named at once', async () => {
    const ended = daemonThatTells('exited 3 false')
    expect(await exitOfContainer(ended.cli, 'name', { code: 3, ...usual })).toEqual({ code: 3 })
    const greedy = daemonThatTells('exited 137 true')
    expect(await exitOfContainer(greedy.cli, 'name', { code: 137, ...usual })).toMatchObject({ oomKilled: true })
    expect([ended.asked.length, greedy.asked.length]).toEqual([1, 1])
  })

  it('of one that somebody killed is told as that, at once where the kernel has killed nothing for its memory', async () => {
    const { cli, eventsAsked } = daemonThatTells('exited 137 false')
    const end = { code: 137, ...usual, mayBeOfMemory: () => false }
    expect(await exitOfContainer(cli, 'name', end)).toEqual({ signal: 'SIGKILL' })
    expect(eventsAsked()).toBe(1)
  })

  it('that docker did not hand on is known where the output came past it, unless the daemon may have brought it about', async () => {
    const exitOf = (end: string, isWhole: boolean) =>
      exitOfContainer(daemonThatTells(end).cli, 'name', { code: 125, ...usual, isWhole })
    expect(await exitOf('exited 7 false', true)).toEqual({ code: 7 })
    for (const [end, isWhole] of [
      ['exited 7 false', false],
      ['exited 137 false', true],
      ['exited 255 false', true],
      ['running 0 false', false],
    ] as const)
      expect(await exitOf(end, isWhole), end).toEqual({ lost: expect.stringContaining('125') })
  })

  it('is asked for again where the daemon has not heard yet of what has let go of its output', async () => {
    const { cli } = daemonThatTells('exited 7 false')
    let questions = 0
    const late: DockerCli = {
      ...cli,
      ask: (args) => (++questions < 4 ? daemonThatTells('running 0 false').cli : cli).ask(args),
    }
    expect(await exitOfContainer(late, 'name', { code: 125, ...usual, isWhole: true })).toEqual({ code: 7 })
    expect(questions).toBe(4)
  })

  it('is no success where the daemon says so of what was killed with it', async () => {
    const exitUnder = (version: string) =>
      exitOfContainer(daemonThatTells('exited 0 false', { version }).cli, 'name', {
        code: 125,
        ...usual,
        isWhole: true,
      })
    for (const version of ['20.10.24+dfsg1', '23.0.6', '24.0.3', '24.0.20', '28.2.2'])
      expect(await exitUnder(version), version).toEqual({ code: 0 })
    for (const version of ['24.0.0', '24.0.1-rc1', '24.0.2', '24.0.2+azure', ''])
      expect(await exitUnder(version), version).toEqual({ lost: expect.stringContaining('125') })
  })

  it('is asked for until the daemon answers', async () => {
    const { cli, asked } = daemonThatTells('exited 3 false')
    const away: Answer = { code: 1, stdout: '', stderr: 'Cannot connect to the Docker daemon' }
    let questions = 0
    const slow: DockerCli = { ...cli, ask: (args) => (++questions < 4 ? Promise.resolve(away) : cli.ask(args)) }
    const end = { code: 3, ...usual, isWaitedFor: () => true }
    expect(await exitOfContainer(slow, 'name', end)).toEqual({ code: 3 })
    expect([questions, asked.length]).toEqual([4, 1])
    questions = 0
    const killed: DockerCli = {
      ...slow,
      ask: (args) => (++questions < 2 ? Promise.resolve(away) : daemonThatTells('exited 137 false').cli.ask(args)),
    }
    expect(await exitOfContainer(killed, 'name', { ...end, code: 137 }), 'as a daemon does that stops').toHaveProperty(
      'lost',
    )
    questions = 0
    expect(await exitOfContainer(slow, 'name', { ...end, isWaitedFor: () => false })).toHaveProperty('lost')
    expect(questions).toBe(1)
  })

  it('is none where no container was made, and told apart from a daemon that is not there', async () => {
    const { cli } = daemonThatTells('')
    const unmade = (said: string) =>
      exitOfContainer(cli, 'name', { code: 125, ...usual, wasMade: false, said: () => said })
    expect(await unmade('docker: no such image\n')).toEqual({ setupFailed: 'docker: no such image' })
    const noDaemon = 'docker: Cannot connect to the Docker daemon at unix:///nowhere'
    expect(await unmade(noDaemon)).toEqual({ setupFailed: noDaemon, unavailable: true })
  })
})
