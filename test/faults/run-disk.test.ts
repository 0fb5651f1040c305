// A run on a disk that fills up, as a real filesystem in a throw-away mount namespace.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { onLinux } from '../fixtures/temporary-mounts.ts'

const dist = fileURLToPath(new URL('../../dist/runs', import.meta.url))

const script = `
  const [dist, place] = process.argv.slice(1)
  const { createRun } = await import(dist + '/run.js')
  const { openRun } = await import(dist + '/open.js')
  const { verifyRun } = await import(dist + '/verify.js')
  const { execFileSync } = await import('node:child_process')
  const { readFileSync, statfsSync, appendFileSync } = await import('node:fs')
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', place])
  const code = (work) => work.then(() => 'done', (error) => error.code)
  const directory = place + '/run'
  const run = await createRun({ config: {}, prompt: 'Fill it.', sandboxPath: directory })
  await run.transition('running')
  let answered = 1, refused
  while ((refused = await code(run.append({ type: 'output', summary: '', data: { text: 'x'.repeat(8000) } }, { durability: 'D2' }))) === 'done') answered++
  try { for (;;) appendFileSync(directory + '/workspace/rest', 'x'.repeat(512)) } catch {}
  const free = statfsSync(place).bavail
  const again = await code(run.append({ type: 'note', summary: '' }))
  const other = await code(createRun({ config: {}, prompt: '', sandboxPath: place + '/other' }))
  const ended = await run.transition('failed', { reason: 'disk_full' })
  await run.close()
  const told = JSON.parse(readFileSync(directory + '/run.json', 'utf8'))
  const events = readFileSync(directory + '/events.jsonl', 'utf8').trimEnd().split('\\n').length
  const report = await verifyRun(directory)
  const opened = await openRun(directory)
  await opened.run.close()
  console.log(JSON.stringify({
    refused, again, free, other, ended: [ended.status, ended.failure_reason], told: [told.status, told.failure_reason],
    events: events - answered, findings: report.findings, repairs: opened.repairs,
  }))
`

describe.skipIf(!onLinux)('a run on a disk that fills up', () => {
  it('stops taking events, and still ends as failed (disk_full) with nothing answered lost', () => {
    const place = mkdtempSync(join(tmpdir(), 'glovebox-small-'))
    try {
      const unshare = process.geteuid?.() === 0 ? ['-m'] : ['-Urm']
      const argv = [process.execPath, '--input-type=module', '-e', script, dist, place]
      const told: unknown = JSON.parse(execFileSync('unshare', [...unshare, ...argv], { encoding: 'utf8' }))
      expect(told).toEqual({
        refused: 'NO_SPACE',
        again: 'NO_SPACE',
        free: 0,
        other: 'NO_SPACE',
        ended: ['failed', 'disk_full'],
        told: ['failed', 'disk_full'],
        // The creation counts among the answered; the change to running and the end come on top.
        events: 2,
        findings: [],
        repairs: [],
      })
    } finally {
      rmSync(place, { recursive: true })
    }
  })
})
