// What a server answers in a test is held against the document that it gives out: by the fixture through which it was asked, so that nobody
// can forget it. Whoever asks by other means is named here, with the reason.
import { describe, expect, it } from 'vitest'
import { importsOf, readSources } from './sources.ts'

const byThemselves: Readonly<Record<string, string>> = {
  'test/e2e/client-ground.ts': 'the fixture: whatever a client of the process is answered',
  'test/e2e/server-ground.ts': 'the fixture: requests as anybody sends them',
  'test/e2e/server-wire.ts': 'the fixture: bytes on a connection',
  'test/e2e/runs-many-files.test.ts': 'judged in the test, when the time was taken',
  'test/e2e/server-downloads.test.ts': 'one that leaves before the answer begins',
  'test/e2e/server-sandboxes.test.ts': 'one that leaves before it is answered',
  'test/e2e/server-shares.test.ts': 'connections without a request; and streams, judged in the test',
  'test/e2e/server-shells.test.ts': 'a connection that takes nothing of what it is sent',
  'test/e2e/server-start.test.ts': 'a socket file, and a stream at the end of the server, both judged in the test',
  'test/e2e/server-upgrades.test.ts': 'connections that stay behind their answer, judged in the test',
  'test/e2e/shell-cli.test.ts': 'through the process whose answers the ground of clients judges',
  'test/faults/exec-output.ts': 'a reader that takes little at a time',
  'test/faults/execs-queue.test.ts': 'a body in two halves, judged in the test',
  'test/faults/output-flood.test.ts': 'readers that take little at a time, or nothing',
  'test/faults/postgres-wire.ts': 'no server of ours',
  'test/faults/server-descriptors.test.ts': 'connections of a server that has no descriptor left for them',
  'test/faults/server-flood.test.ts': 'floods, of which most is never read',
}

const asks = new Set(['node:http', 'node:net', 'node:https', 'undici'])

describe('the answer of a server in a test', () => {
  it('is asked for by way of a fixture that judges it, or it is told here why not', () => {
    const found = readSources('test/e2e', 'test/faults')
      .filter(
        (file) =>
          /(?<![.\w])fetch\(/.test(file.code) ||
          importsOf(file).some(({ kind, target }) => kind !== 'type' && asks.has(target)),
      )
      .map(({ path }) => path)
    expect(found).toContain('test/e2e/server-ground.ts')
    expect(found).toEqual(Object.keys(byThemselves).toSorted())
  })
})
