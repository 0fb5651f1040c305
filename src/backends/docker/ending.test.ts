import { describe, expect, it } from 'vitest'
import { openEndings } from './ending.ts'

/** A daemon that has removed it when it is asked for the n-th time. */
function daemonThatRemovesAt(question: number) {
  let asked = 0
  return { tryToRemove: async () => ++asked >= question, asked: () => asked }
}

const doomed = { name: 'name', id: () => undefined, isInMaking: () => false }

describe('a container that must end', () => {
  it('is asked for until the daemon has said that it is gone, and no more', async () => {
    const daemon = daemonThatRemovesAt(4)
    const endings = openEndings(daemon)
    const { tried, gone } = endings.begin(doomed)
    expect([await tried, daemon.asked()]).toEqual([false, 1])
    expect([await gone, daemon.asked()]).toEqual([true, 4])
    endings.close()
  })

  it('is ended without the daemon meanwhile, again and again, and gone only when the daemon says so', async () => {
    const ended: string[] = []
    const groups = { end: async (id: string) => void ended.push(id) }
    const endings = openEndings(daemonThatRemovesAt(3), groups)
    const { tried, gone } = endings.begin({ ...doomed, id: () => 'an id' })
    expect([await tried, await gone, ended]).toEqual([false, true, ['an id', 'an id']])
    endings.close()
  })

  it('is asked for again while docker may still be making it', async () => {
    const daemon = daemonThatRemovesAt(1)
    const endings = openEndings(daemon)
    await endings.begin({ ...doomed, isInMaking: () => daemon.asked() < 3 }).tried
    await expect.poll(daemon.asked).toBe(4)
    endings.close()
  })

  it('that was made behind the answer that it is not there is asked for again', async () => {
    let isMade = false
    const asked: boolean[] = []
    const tryToRemove = async (): Promise<boolean> => {
      asked.push(isMade)
      isMade = true
      return true
    }
    const endings = openEndings({ tryToRemove })
    await endings.begin({ ...doomed, isInMaking: () => !isMade }).tried
    await expect.poll(() => asked).toEqual([false, true])
    endings.close()
  })

  it('is asked for again where an attempt fails', async () => {
    let asked = 0
    const tryToRemove = async (): Promise<boolean> => {
      if (++asked < 3) throw Object.assign(new Error('EMFILE'), { code: 'EMFILE' })
      return true
    }
    const endings = openEndings({ tryToRemove })
    await endings.begin(doomed).tried
    await expect.poll(() => asked).toBe(3)
    endings.close()
  })

  it('has one ending, however often that is asked for', async () => {
    const daemon = daemonThatRemovesAt(2)
    const endings = openEndings(daemon)
    expect(endings.begin(doomed)).toBe(endings.begin(doomed))
    await expect.poll(daemon.asked).toBe(2)
    endings.close()
  })

  it('is left to the next one when nobody is there to go on', async () => {
    const daemon = daemonThatRemovesAt(Infinity)
    const endings = openEndings(daemon)
    const { tried, gone } = endings.begin(doomed)
    await tried
    endings.close()
    const before = daemon.asked()
    const another = endings.begin({ ...doomed, name: 'another' })
    expect(await Promise.all([gone, another.tried, another.gone])).toEqual([false, false, false])
    expect(daemon.asked()).toBe(before)
  })
})
