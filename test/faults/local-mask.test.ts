// `local` shows the agent guest paths only, wherever the operating system happens to cut the output.
import { describe, expect, it } from 'vitest'
import { resultOf } from './finished.ts'
import { faultGround } from './ground.ts'

interface Seen {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
  readonly streamed: { readonly stdout: string; readonly stderr: string }
  readonly length: number
}

describe('a host path in the output of local', () => {
  it('is masked although a chunk boundary cuts it, at every place', async () => {
    const ground = faultGround('user')
    try {
      const workspace = ground.makeDirectory('workspace')
      const { exitCode, stdout, stderr, streamed, length } = await resultOf<Seen>(
        ground.startHost('mask.mjs', [workspace]),
      )
      const expected = '/workspace/name\n'.repeat(workspace.length - 1)
      expect(length).toBe(workspace.length)
      expect({ exitCode, stdout, stderr }).toEqual({ exitCode: 0, stdout: expected, stderr: expected })
      expect(streamed).toEqual({ stdout: expected, stderr: expected })
    } finally {
      ground.remove()
    }
  })
})
