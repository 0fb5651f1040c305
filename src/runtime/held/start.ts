// Starts the process that will hold a shell. It is this program again, in a session of its own, so that neither our terminal nor
// our end reaches it; what it is to do comes over a pipe, since command lines can be read by everybody on the host.
import { closeSync, openSync } from 'node:fs'
import { once } from 'node:events'
import { GloveboxError } from '../../errors/error.ts'
import { openSpawner } from '../../process/spawn.ts'

export interface HolderRequest {
  readonly program: readonly [string, ...string[]]
  readonly directory: string
  /** What the holder reads. */
  readonly order: unknown
}

/** The one line that a holder says. */
export const readyWord = 'ready'

/** Settles when the holder can be reached. */
export async function startHolder({ program: [file, ...args], directory, order }: HolderRequest): Promise<void> {
  const spawner = openSpawner()
  const nowhere = openSync('/dev/null', 'r+')
  try {
    const child = spawner.startRaw({
      file,
      args,
      cwd: directory,
      // It is the operator's own program, and no guest.
      env: Object.fromEntries(
        Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
      ),
      stdio: ['pipe', 'pipe', nowhere],
      detached: true,
    })
    const { stdin, stdout } = child
    if (stdin === null || stdout === null) throw new Error('no pipes')
    for (const stream of [stdin, stdout]) stream.on('error', () => {})
    stdin.end(JSON.stringify(order))
    const said = await Promise.race([once(stdout, 'data'), once(child, 'exit'), once(child, 'error')])
    if (!String(said[0]).startsWith(readyWord)) throw notStarted(`it ended with ${String(said[0])}`)
    stdout.destroy()
    child.unref()
  } finally {
    closeSync(nowhere)
    spawner.close()
  }
}

const notStarted = (detail: string): GloveboxError =>
  new GloveboxError('INTERNAL', 'Cannot open the shell: the process that was to hold it did not start', {
    operatorDetail: detail,
  })
