// The disk on which the output of execs in containers is kept until the server has it is full: what is missing is told, and not left out.
import { mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isRequired } from '../conformance/required.ts'
import { makePlace, shell, startExecServer, type ExecServer } from '../fixtures/exec-server.ts'
import { execTarget, spoolsAt, spoolsIn } from './exec-targets.ts'
import { ended, letGo, textOf, until, untilGo } from './lasting-execs.ts'
import { privateDockerd, reasonWithout, type PrivateDockerd } from './private-dockerd.ts'

const image = 'glovebox/sandbox:latest'
/** HOME lies there too. */
const fill = 'head -c 100m /dev/zero >~/fill 2>/dev/null'

describe.skipIf(reasonWithout(image) !== undefined && !isRequired('dockerd'))(
  'execs whose output finds no room',
  () => {
    let daemon: PrivateDockerd
    let server: ExecServer
    let spools: string
    /** What the one before it has filled lies there until then, and the next one would have no room either. */
    const untilCleared = (): Promise<void> =>
      until(() => daemon.docker('ps', '-aq').trim() === '' && spoolsIn(spools).length === 0)
    beforeAll(async () => {
      daemon = await privateDockerd([image])
      const place = makePlace()
      mkdirSync(spoolsAt(place), { recursive: true, mode: 0o700 })
      // In the mount namespace of that daemon, which must see it too: nobody else does, and it goes with the daemon.
      const pid = readFileSync(join(dirname(new URL(daemon.host).pathname), 'pid'), 'utf8')
      spools = join('/proc', pid.trim(), 'root', spoolsAt(place))
      const script = 'mount -t tmpfs -o size=12m,mode=700 none "$0" && exec "$@"'
      server = await startExecServer({
        ...execTarget('docker').options,
        place,
        env: { DOCKER_HOST: daemon.host },
        under: ['nsenter', '-t', pid, '-m', 'sh', '-c', script, spoolsAt(place)],
      })
    })
    afterAll(async () => {
      await server.stop()
      await server.remove()
      await daemon.remove()
    })

    it('end with disk_full, at once, whatever their command says in the end', async () => {
      for (const last of ['exit 0', 'sleep 300']) {
        const script = `${fill}; head -c 900000 /dev/zero; ${last}`
        const exec = await server.exec(shell(script))
        expect(exec).toMatchObject({ status: 'FAILED', error_reason: 'disk_full', exit_code: null })
        await untilCleared()
      }
    })

    it('of which all was kept have their own end, on the same disk', async () => {
      const exec = await server.begin(shell(`echo kept; ${untilGo}; ${fill}; exit 7`))
      await until(() => textOf(server, exec.stdout_path) === 'kept\n')
      letGo(server)
      expect(await server.until(exec.exec_id, ended)).toMatchObject({ error_reason: 'exit_nonzero', exit_code: 7 })
      expect(textOf(server, exec.stdout_path)).toBe('kept\n')
    })
  },
)
