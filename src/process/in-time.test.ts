import { describe, expect, it } from 'vitest'
import { inTime, late } from './in-time.ts'

describe('waiting, but not for ever', () => {
  it('gives what was waited for, and its failure as it was', async () => {
    expect(await inTime(Promise.resolve(3), 10_000)).toBe(3)
    await expect(inTime(Promise.reject(new Error('no')), 10_000)).rejects.toThrow('no')
  })

  it('says that it is late where nothing comes', async () => {
    expect(await inTime(new Promise(() => {}), 1)).toBe(late)
  })
})
