import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Backend } from '../../contract/backend.ts'
import type { Prepared } from '../../execs/boundaries.ts'
import { resolvePolicy } from '../../policy/resolve.ts'
import { openImages, releasedAfter } from './images.ts'

/** Which images were opened, and which of those were closed, in order. */
function watched(isThere: (image: string) => boolean = () => true) {
  const told = { opened: [] as string[], closed: [] as string[] }
  const images = openImages(async (image) => {
    told.opened.push(image)
    if (image === 'bad') throw new Error('no name of an image')
    return {
      name: 'docker',
      capabilities: isThere(image) ? { timeout: 'SIGKILL' } : {},
      close: async () => void told.closed.push(image),
    } as unknown as Backend
  })
  const ask = async (image: string): Promise<void> => (await images.use(image)).release()
  return Object.assign(told, { images, ask })
}

const names = (count: number): readonly string[] => Array.from({ length: count }, (_, number) => `image-${number}`)

describe('backends for images', () => {
  it('are opened once for all who ask, and closed with the others', async () => {
    const { images, ask, opened, closed } = watched()
    await Promise.all(['a', 'a', 'b', 'a'].map(ask))
    expect([opened, closed]).toEqual([['a', 'b'], []])
    await images.close()
    expect(closed).toEqual(['a', 'b'])
  })

  it('are closed when there are too many: the one that was not asked for the longest', async () => {
    const { ask, opened, closed } = watched()
    for (const name of [...names(32), 'image-0', 'another', 'one more']) await ask(name)
    expect([opened.length, closed]).toEqual([34, ['image-1', 'image-2']])
    await ask('image-1')
    expect([opened.at(-1), closed.at(-1)]).toEqual(['image-1', 'image-3'])
  })

  it('are not closed while anybody uses them, and once when the last has let go', async () => {
    const { images, ask, closed } = watched()
    const [first, second] = [await images.use('used'), await images.use('used')]
    for (const name of names(32)) await ask(name)
    expect(closed).toEqual([])
    await first.release()
    expect(closed).toEqual([])
    await second.release()
    expect(closed).toEqual(['used'])
    const third = await images.use('used')
    await images.close()
    await third.release()
    expect(closed.filter((name) => name === 'used')).toHaveLength(2)
    expect(closed).toHaveLength(34)
  })

  it('that are not there, or cannot be opened, are looked for again by the next who asks', async () => {
    const there = new Set<string>()
    const { images, ask, opened, closed } = watched((image) => there.has(image))
    const missing = await images.use('late')
    expect(closed).toEqual([])
    await missing.release()
    expect(closed).toEqual(['late'])
    there.add('late')
    for (let asked = 0; asked < 2; asked++) await ask('late')
    for (let asked = 0; asked < 2; asked++) await expect(ask('bad')).rejects.toThrow('no name of an image')
    expect(opened).toEqual(['late', 'late', 'bad', 'bad'])
    await images.close()
    expect(closed).toEqual(['late', 'late'])
  })
})

describe('what an exec was prepared with', () => {
  afterEach(() => void vi.useRealTimers())
  const prepared = (said: string[], more: Partial<Prepared> = {}): Prepared => ({
    boundaryId: 'sbx_1',
    image: null,
    policy: resolvePolicy([]).effective,
    run: () => expect.fail('nothing is to be run'),
    close: async () => void said.push('closed'),
    ...more,
  })

  it('is let go when it is closed, or when nobody will look for it any more', async () => {
    const said: string[] = []
    const release = async (): Promise<void> => void said.push('released')
    await releasedAfter(prepared(said), release).close()
    expect(said.splice(0)).toEqual(['closed', 'released'])
    const lasting = releasedAfter(prepared(said, { forget: async () => void said.push('forgotten') }), release)
    await lasting.close()
    expect(said).toEqual(['closed'])
    await lasting.forget?.()
    expect(said).toEqual(['closed', 'forgotten', 'released'])
  })

  it('is let go once where nobody forgets it, since another server has it, or its end could not be written', async () => {
    vi.useFakeTimers()
    const said: string[] = []
    const release = async (): Promise<void> => void said.push('released')
    const forget = async (): Promise<void> => void said.push('forgotten')
    const lasting = releasedAfter(prepared(said, { forget }), release)
    await lasting.close()
    await vi.advanceTimersByTimeAsync(59_000)
    expect(said).toEqual(['closed'])
    await vi.advanceTimersByTimeAsync(2000)
    expect(said).toEqual(['closed', 'released'])
    await lasting.forget?.()
    expect(said).toEqual(['closed', 'released', 'forgotten'])
  })

  it('is let go though it could not be taken away', async () => {
    const said: string[] = []
    const close = (): Promise<void> => Promise.reject(new Error('still there'))
    const release = async (): Promise<void> => void said.push('released')
    await expect(releasedAfter(prepared(said, { close }), release).close()).rejects.toThrow('still there')
    expect(said).toEqual(['released'])
  })
})
