import { describe, expect, it } from 'vitest'
import type { Provider } from '../../contract/provider.ts'
import { createProviderHolder } from './holder.ts'

function scripted(told: string[], name: string): Provider {
  const say = (what: string) => async (): Promise<void> => void told.push(`${name} ${what}`)
  return {
    acquire: async () => 'sbx_00000000',
    get: () => undefined,
    release: say('release'),
    destroy: say('destroy'),
    reset: say('reset'),
    shutdown: say('shutdown'),
  }
}

describe("a program's one provider", () => {
  it('is opened at the first call, and only then', async () => {
    const told: string[] = []
    let opened = 0
    const holder = createProviderHolder(async () => scripted(told, `p${++opened}`))
    await holder.resetProvider()
    await holder.shutdownProvider()
    expect(opened).toBe(0)
    const [one, other] = await Promise.all([holder.getProvider(), holder.getProvider()])
    expect([opened, one === other]).toEqual([1, true])
    await holder.resetProvider()
    await holder.shutdownProvider()
    await holder.shutdownProvider()
    expect(told).toEqual(['p1 reset', 'p1 shutdown'])
    expect(await holder.getProvider()).not.toBe(one)
  })

  it('can be set, and another holder knows nothing of it', async () => {
    const told: string[] = []
    const [one, other] = [createProviderHolder(), createProviderHolder(async () => scripted(told, 'other'))]
    const own = scripted(told, 'own')
    one.setProvider(own)
    expect(await one.getProvider()).toBe(own)
    expect(await other.getProvider()).not.toBe(own)
  })

  it('one that could not be opened is opened anew when it is asked for again', async () => {
    let tries = 0
    const holder = createProviderHolder(async () => {
      tries += 1
      if (tries === 1) throw new Error('no backend')
      return scripted([], 'second')
    })
    await expect(holder.getProvider()).rejects.toThrow('no backend')
    await expect(holder.getProvider()).resolves.toBeDefined()
  })
})
