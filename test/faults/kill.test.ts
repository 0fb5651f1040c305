// Kill -9 of the host process. The long forms are `script/campaign kill` and `script/campaign kill-at-call`.
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { finished } from './finished.ts'
import { faultGround, starters } from './ground.ts'
import { hasTracer, killAtCalls } from './killed-at-call.ts'
import { killHosts, ways } from './killed.ts'
import { entriesBelow, processesOf, untilGone } from './traces.ts'

const kills = 7

describe.skipIf(process.platform !== 'linux')('kill -9 of the host process', () => {
  for (const starter of starters) {
    for (const way of ways) {
      it(`at any moment leaves nothing: ${way}, started by ${starter}`, async () => {
        const report = await killHosts({ starter, way, kills })
        expect(report.faults).toEqual([])
        // The control: guests were alive, and there was something to sweep.
        expect(report.metGuest).toBeGreaterThan(0)
        expect(report.leftState).toBeGreaterThan(0)
      })
    }

    // While names are given to placeholders, between a directory and its owner, and while they are taken away.
    const moments = [
      { call: 'mkdir', nth: 6 },
      { call: 'mkdir', nth: 20 },
      { call: 'fchown', nth: 12 },
      { call: 'link', nth: 9 },
      { call: 'unlink', nth: 30 },
      { call: 'rename', nth: 3 },
    ]
    const title = `in the middle of making and removing leaves nothing, started by ${starter}`
    it.skipIf(!hasTracer)(hasTracer ? title : `${title} (not run: strace is not installed)`, async () => {
      const { faults, killed } = await killAtCalls(starter, moments)
      expect(faults).toEqual([])
      expect(killed.length).toBeGreaterThanOrEqual(4)
    })
  }

  it('a stand-in hides no settings further up, and does not keep a second command from starting', async () => {
    const ground = faultGround('user')
    try {
      const project = ground.makeDirectory('project')
      writeFileSync(join(ground.directory, 'glovebox.yaml'), 'policy:\n  timeoutMs: 7654\n')
      const first = ground.startCli(['exec', '--', 'sh', '-c', 'echo up; sleep 30'], { cwd: project })
      const gone = once(first, 'exit')
      await once(first.stdout!, 'data')
      expect(entriesBelow(project)).toContain('glovebox.yaml')
      const explained = await finished(ground.startCli(['explain', '--json'], { cwd: project }))
      expect(explained).toMatchObject({ code: 0, stdout: expect.stringContaining('7654') as string })
      first.kill('SIGKILL')
      await gone
      const second = await finished(ground.startCli(['exec', '--', 'true'], { cwd: project }))
      expect(second).toMatchObject({ code: 0, stderr: '' })
      expect(entriesBelow(project)).not.toContain('glovebox.yaml')
    } finally {
      ground.remove()
    }
  })

  it('is seen by the means of this test: a command that is left alone is found', async () => {
    const ground = faultGround('user')
    const host = ground.startCli(['exec', '--', 'sleep', '30'], { cwd: ground.makeDirectory('project') })
    const gone = once(host, 'exit')
    try {
      const place = { directory: ground.directory, session: host.pid }
      // The host's own command line names it too.
      const named = (): number => processesOf(place).filter((line) => line.includes('sleep 30')).length
      await expect.poll(named).toBeGreaterThan(1)
      expect((await untilGone(place, 200)).survivors.length).toBeGreaterThan(1)
    } finally {
      host.kill('SIGKILL')
      await gone
      ground.remove()
    }
  })
})
