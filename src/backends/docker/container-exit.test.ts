import { describe, expect, it } from 'vitest'
import type { Answer, DockerCli } from './cli.ts'
import { exitOfContainer } from './container-exit.ts'

/** A daemon that answers one after another, and then as it did last. */
function daemonThatAnswers(...answers: readonly string[]) {
  let asked = 0
  const cli: DockerCli = {
    async ask(): Promise<Answer> {
      return { code: 0, stdout: `${answers[Math.min(asked++, answers.length - 1)]}\n`, stderr: '' }
    },
    startAside: () => expect.fail('nothing is to be started'),
    start: () => expect.fail('nothing is to be started'),
  }
  return { cli, asked: () => asked }
}

const said = (): string => ''

describe('the end of a container', () => {
  it('was for want of memory also where the daemon hears of it after the end', async () => {
    const { cli } = daemonThatAnswers('exited 137 false', 'exited 137 false', 'exited 137 true')
    expect(await exitOfContainer(cli, 'name', { code: 137, said })).toEqual({ signal: 'SIGKILL', oomKilled: true })
  })

  it('is asked for once where nothing was killed, or memory is named at once', async () => {
    const ended = daemonThatAnswers('exited 3 false')
    expect(await exitOfContainer(ended.cli, 'name', { code: 3, said })).toEqual({ code: 3 })
    const greedy = daemonThatAnswers('exited 137 true')
    expect(await exitOfContainer(greedy.cli, 'name', { code: 137, said })).toMatchObject({ oomKilled: true })
    expect([ended.asked(), greedy.asked()]).toEqual([1, 1])
  })

  it('of one that somebody killed is told as that, when it was asked often enough', async () => {
    const { cli, asked } = daemonThatAnswers('exited 137 false')
    expect(await exitOfContainer(cli, 'name', { code: 137, said })).toEqual({ signal: 'SIGKILL' })
    expect(asked()).toBeGreaterThan(3)
  })
})
