import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openSpawner } from '../../process/spawn.ts'
import { openDockerCli } from './cli.ts'

describe('a question to docker', () => {
  it('that cannot be put has no answer, and is no fault of whoever asks', async () => {
    const spawner = openSpawner()
    const cli = openDockerCli(spawner, '/bin/true', {})
    // More than the kernel takes as one word.
    expect(await cli.ask(['x'.repeat(200_000)])).toEqual({
      code: null,
      stdout: '',
      stderr: expect.stringMatching(/E2BIG/),
    })
    spawner.close()
  })

  it('has its deadline also where docker has ended, and something that it started holds its output', async () => {
    const spawner = openSpawner()
    const cli = openDockerCli(spawner, '/bin/sh', {})
    const before = readdirSync('/proc/self/fd').length
    const begun = performance.now()
    const place = mkdtempSync(join(tmpdir(), 'glovebox-cli-'))
    const { code, isLate } = await cli.ask(['-c', 'sleep 600 & echo $! >"$0"', join(place, 'pid')], {
      deadlineMs: 1000,
    })
    process.kill(Number(readFileSync(join(place, 'pid'), 'utf8')))
    rmSync(place, { recursive: true })
    expect({ code, isLate }).toEqual({ code: null, isLate: true })
    expect(performance.now() - begun).toBeLessThan(30_000)
    await expect.poll(() => readdirSync('/proc/self/fd').length).toBeLessThanOrEqual(before)
    expect(await cli.ask(['-c', 'echo words'], { deadlineMs: 20_000 })).toEqual({
      code: 0,
      stdout: 'words\n',
      stderr: '',
    })
    spawner.close()
  })
})
