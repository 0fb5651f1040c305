import { describe, expect, it } from 'vitest'
import type { Description } from '../../contract/sandbox.ts'
import { systemPrompt } from './system-prompt.ts'

const description = {
  cwd: '/workspace',
  tmpDir: '/home/agent/tmp',
  networkMode: 'none',
  mounts: [
    { guestPath: '/workspace', mode: 'rw' },
    { guestPath: '/deliverables', mode: 'rw' },
    { guestPath: '/data', mode: 'ro' },
  ],
} as unknown as Description

const prompt = (more: Partial<Parameters<typeof systemPrompt>[0]> = {}): string =>
  systemPrompt({ description, deliverables: [], own: undefined, ...more })

describe('systemPrompt', () => {
  it('tells directories, their modes and the network as they are', () => {
    expect(prompt()).toContain('/workspace (read and write), /deliverables (read and write), /data (read only)')
    expect(prompt()).toContain('- Network: none; nothing can be downloaded')
    expect(prompt({ description: { ...description, networkMode: 'full' } })).toContain('- Network: open')
  })

  it('names the deliverables, or the place for results', () => {
    expect(prompt({ deliverables: ['/deliverables/a.md'] })).toContain(
      'only if these files are there at the end:\n- /deliverables/a.md',
    )
    expect(prompt()).toContain('belong in /deliverables')
    expect(prompt({ description: { ...description, mounts: [] } })).not.toContain('/deliverables')
  })

  it('ends with the instructions of the operator', () => {
    expect(prompt({ own: ' Be brief. \n' }).endsWith('\n\nBe brief.')).toBe(true)
    expect(prompt({ own: '  ' })).toBe(prompt())
  })
})
