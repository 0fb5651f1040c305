import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fingerprint } from '../../runs/fingerprint.ts'
import { loadSettings } from '../settings.ts'
import { composeRun, type RunAsked } from './compose.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'glovebox-compose-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

async function composed(text: string, asked: Partial<RunAsked> = {}) {
  writeFileSync(join(directory, 'glovebox.yaml'), text)
  const settings = await loadSettings({ directory })
  return composeRun({ settings, layers: [], mounts: settings.mounts ?? [], argv: [], backend: 'bwrap', ...asked })
}

const settings = `
title: A job
profile: small
executor: { command: [python3, job.py] }
inputs: [job.py]
deliverables: [a.txt, { path: /deliverables/b.txt, allowEmpty: true }]
review: true
policy: { memoryMb: 512, timeoutMs: 1000 }
`

describe('a composed run', () => {
  it('has the settings of the file, and its bytes as they are', async () => {
    const run = await composed(settings)
    expect(run).toMatchObject({
      configText: settings,
      review: true,
      profileId: 'small',
      taskTitle: 'A job',
      inputs: [join(directory, 'job.py')],
      deliverables: [
        { path: 'a.txt', allow_empty: false },
        { path: '/deliverables/b.txt', allow_empty: true },
      ],
      config: { executor: { kind: 'command', command: ['python3', 'job.py'] }, policy: { memoryMb: 512 } },
    })
    expect(run.executor.name).toBe('command')
  })

  it('has one fingerprint for one config, whatever the order of its keys', async () => {
    const reversed = settings.trim().split('\n').toReversed().join('\n')
    const [one, other] = [await composed(settings), await composed(reversed)]
    expect(other.configText).not.toBe(one.configText)
    expect(fingerprint(other.config)).toBe(fingerprint(one.config))
  })

  it('has another fingerprint where a flag changes what is in force', async () => {
    const layers = [{ layer: 'settings', source: '--memory', values: { memoryMb: 1024 } }] as const
    const [one, other] = [await composed(settings), await composed(settings, { layers })]
    expect(fingerprint(other.config)).not.toBe(fingerprint(one.config))
  })

  it('keeps no value of a variable that was given on the spot', async () => {
    const run = await composed('{}', { argv: ['true'], env: { TOKEN: 'hush-hush' } })
    expect(JSON.stringify([run.config, run.configText])).not.toContain('hush-hush')
    expect(run.config).toMatchObject({ env_names: ['TOKEN'] })
    expect(run.sandbox.env).toEqual({ TOKEN: 'hush-hush' })
  })

  it('writes settings of its own where there is no file, and they ask for the same', async () => {
    mkdirSync(join(directory, 'data'))
    const asked: Partial<RunAsked> = {
      backend: 'bwrap',
      argv: ['sh', '-c', 'echo "a: b"'],
      layers: [
        { layer: 'settings', source: '--memory', values: { memoryMb: 512 } },
        { layer: 'settings', source: '--net', values: { network: { mode: 'full' } } },
      ],
      mounts: [{ guestPath: '/data', hostPath: join(directory, 'data'), mode: 'ro' }],
      inputs: [join(directory, 'in.txt')],
    }
    const first = await composeRun({ settings: { layers: [] }, layers: [], mounts: [], argv: [], ...asked })
    const again = await composed(first.configText ?? '')
    expect(fingerprint(again.config)).toBe(fingerprint(first.config))
  })
})
