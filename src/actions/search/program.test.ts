import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openHostContext, type HostContext } from '../../../test/fixtures/host-context.ts'
import { runSearch, type SearchEnd } from './program.ts'
import { searchRoot } from './root.ts'

let host: HostContext
beforeAll(() => {
  host = openHostContext()
})
afterAll(() => host.close())

/** The program is a shell: what matters is when it ends, not what it finds. */
async function search(script: string, take: (record: string) => boolean): Promise<SearchEnd> {
  const context = { ...host.context, searchProgram: '/bin/sh' }
  return await runSearch(context, {
    root: await searchRoot(context, '/workspace'),
    arguments: ['-c', script],
    output: { separator: 0x0a, maxBytes: 100 },
    take: (record) => take(record.toString()),
    signal: undefined,
  })
}

/** Holds up the whole process: what is to come behind it must not have begun. */
function untilEnded(pid: string): true {
  const giveUpAt = performance.now() + 20_000
  while (/^\d+ \(.*\) [^ZX] /.test(statOf(pid))) if (performance.now() > giveUpAt) throw new Error('it does not end')
  return true
}

function statOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return ''
  }
}

describe('a search of which enough has been seen', () => {
  it('is ended, without reading the rest', async () => {
    const seen: string[] = []
    const end = await search(
      'echo one; echo two; while sleep 0.01; do echo more; done',
      (record) => seen.push(record) < 2,
    )
    expect(seen).toEqual(['one', 'two'])
    expect(end).toMatchObject({ stopped: true, result: { ended: { by: 'cancel' } } })
  })

  it('comes to its own end if that is near, since a boundary may not outlive a command that is killed', async () => {
    // It has ended before anything is done about it, however busy the host is.
    const end = await search('echo $$; echo two', (pid) => untilEnded(pid) && false)
    expect(end).toMatchObject({ stopped: true, result: { ended: { by: 'exit', code: 0 } } })
  })
})
