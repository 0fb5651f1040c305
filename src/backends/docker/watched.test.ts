import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Answer, DockerCli } from './cli.ts'
import { smallestQuestion, watchDocker } from './watched.ts'

/** A docker that asks its daemon. Where that hangs, each question ends with its deadline. */
function dockerWhoseDaemon(does: 'answers' | 'hangs' | 'is gone') {
  const told = { does, asked: [] as string[] }
  const gone: Answer = { code: 1, stdout: '', stderr: 'Cannot connect to the Docker daemon' }
  const cli: DockerCli = {
    async ask([verb = ''], { deadlineMs = 30_000 } = {}): Promise<Answer> {
      told.asked.push(verb)
      if (told.does === 'is gone') return gone
      if (told.does === 'answers') return { code: 0, stdout: 'well\n', stderr: '' }
      await new Promise((resolve) => setTimeout(resolve, deadlineMs))
      return { code: null, stdout: '', stderr: 'late', isLate: true }
    },
    startAside: () => expect.fail('nothing is to be started'),
    start: () => expect.fail('nothing is to be started'),
  }
  return Object.assign(told, { docker: watchDocker(cli) })
}

const hung = async () => {
  const told = dockerWhoseDaemon('hangs')
  void told.docker.cli.ask(['ps'])
  await vi.advanceTimersByTimeAsync(10_000)
  expect(told.docker.circuit.isOpen()).toBe(true)
  told.asked.length = 0
  return told
}

describe('docker, watched', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
  afterEach(() => void vi.useRealTimers())

  it('refuses at once what would begin something while the daemon hangs', async () => {
    const { docker, asked } = await hung()
    expect(await docker.cli.ask(['update'], { unlessAway: true })).toMatchObject({ code: null, isAway: true })
    expect(() => docker.refuseIfAway()).toThrowError(expect.objectContaining({ code: 'BACKEND_UNAVAILABLE' }))
    expect(await docker.answers()).toBe(false)
    expect(asked).not.toContain('update')
  })

  it('asks on what must be known or ended, for as long as that may take', async () => {
    const told = await hung()
    const answer = told.docker.cli.ask(['rm'])
    await vi.advanceTimersByTimeAsync(29_000)
    expect(told.asked).toContain('rm')
    await vi.advanceTimersByTimeAsync(1000)
    expect(await answer).toMatchObject({ code: null, isLate: true })
    told.does = 'answers'
    expect(await told.docker.cli.ask(['rm'])).toMatchObject({ code: 0 })
  })

  it('waits no longer for a question that went out before it was known', async () => {
    const { docker } = dockerWhoseDaemon('hangs')
    const answer = docker.cli.ask(['info'], { unlessAway: true })
    await vi.advanceTimersByTimeAsync(10_000)
    expect(await answer).toMatchObject({ isAway: true })
  })

  it('suspects the daemon when a question was too late, though nobody waits any more', async () => {
    const { docker } = dockerWhoseDaemon('hangs')
    void docker.cli.ask(['ps'], { deadlineMs: 1000 })
    await vi.advanceTimersByTimeAsync(6000)
    expect(docker.circuit.isOpen()).toBe(true)
  })

  it('takes a daemon that is not there for an answer: docker says so itself', async () => {
    const told = await hung()
    told.does = 'is gone'
    await vi.advanceTimersByTimeAsync(10_000)
    expect(told.docker.circuit.isOpen()).toBe(false)
    expect(await told.docker.answers()).toBe(false)
  })

  it('holds the want of a turn of its own against nobody', async () => {
    const told = dockerWhoseDaemon('hangs')
    let wasStoppedMs = 0
    const docker = watchDocker(
      { ...told.docker.cli, ask: (args, options) => told.docker.cli.ask(args, options) },
      () => performance.now() + wasStoppedMs,
    )
    docker.circuit.suspect()
    wasStoppedMs = 20_000
    await vi.advanceTimersByTimeAsync(5000)
    expect(docker.circuit.isOpen()).toBe(false)
  })

  it('is asked whether it answers by one for all, and not where it has just answered', async () => {
    const { docker, asked } = dockerWhoseDaemon('answers')
    expect(await Promise.all([docker.answers(), docker.answers()])).toEqual([true, true])
    expect(asked).toEqual([smallestQuestion[0]])
    await docker.cli.ask(['ps'])
    await vi.advanceTimersByTimeAsync(1000)
    expect(await docker.answers()).toBe(true)
    expect(asked).toHaveLength(2)
    await vi.advanceTimersByTimeAsync(5000)
    await docker.answers()
    expect(asked).toHaveLength(3)
  })
})
