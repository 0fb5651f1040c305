// Execs that ask for another image than the server's own: they run in it, their records tell it, and the next server finds them again.
import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import type { ExecMeta, ExecRecord } from '../../src/contract/exec-record.ts'
import { isRequired } from '../conformance/required.ts'
import { shell, startExecServer, type ExecServer } from '../fixtures/exec-server.ts'
import { busyboxImage, dockerHasImage, execTarget, runscImage as otherImage } from './exec-targets.ts'
import { ended, letGo, serversOn, textOf, until, untilGo } from './lasting-execs.ts'

const ownImage = 'glovebox/sandbox:latest'
const isHere = [ownImage, otherImage, busyboxImage].every(dockerHasImage)
/** CI makes the second image for gVisor. */
const isDemanded = isRequired('docker') && isRequired('docker-runsc')

/** Which system it is. */
const which = '. /etc/os-release; echo $VERSION_CODENAME'
const idOf = (image: string): string =>
  execFileSync('docker', ['image', 'inspect', '--format', '{{.Id}}', image], { encoding: 'utf8' }).trim()
const metaOf = (server: ExecServer, { artifacts_dir }: ExecRecord): ExecMeta =>
  JSON.parse(textOf(server, `${artifacts_dir}/meta.json`)) as ExecMeta

describe.skipIf(!isHere && !isDemanded)('execs with an image of their own', () => {
  const start = serversOn(execTarget('docker'))

  it('run in it, while the others run in the server’s', async () => {
    const server = await start()
    const [other, usual] = await Promise.all([
      server.exec({ ...shell(which), image: otherImage }),
      server.exec(shell(which)),
    ])
    expect(textOf(server, other.stdout_path)).toBe('bullseye\n')
    expect(textOf(server, usual.stdout_path)).toBe('bookworm\n')
    for (const [exec, image] of [[other, otherImage] as const, [usual, ownImage] as const]) {
      const image_id = idOf(image)
      expect(exec).toMatchObject({ status: 'SUCCEEDED', image, image_id })
      expect(await server.get(exec.exec_id)).toMatchObject({ image, image_id })
      expect(metaOf(server, exec)).toMatchObject({ image, image_id })
    }
  })

  it('have their true end when the server is killed, and those that waited have their image under the next', async () => {
    const settings = 'sandbox:\n  max_concurrent_execs: 1\n'
    const first = await start({ settings })
    const image = otherImage
    const exec = await first.begin({ ...shell(`${which}; ${untilGo}; echo over; exit 9`), image })
    const waiting = await first.begin({ ...shell(`${which}; exit 4`), image })
    await until(() => textOf(first, exec.stdout_path) === 'bullseye\n')
    await first.kill()
    const second = await start({ place: first.place })
    expect(await second.get(exec.exec_id)).toMatchObject({ status: 'RUNNING', image })
    letGo(second)
    expect(await second.until(exec.exec_id, ended)).toMatchObject({ status: 'FAILED', exit_code: 9, image })
    expect(textOf(second, exec.stdout_path)).toBe('bullseye\nover\n')
    expect(metaOf(second, exec)).toMatchObject({ status: 'FAILED', exit_code: 9, image })
    expect(await second.until(waiting.exec_id, ended)).toMatchObject({ status: 'FAILED', exit_code: 4, image })
    expect(textOf(second, waiting.stdout_path)).toBe('bullseye\n')
  })

  it('are told by their records while they run, and so are those in the server’s own', async () => {
    const server = await start()
    const exec = await server.begin(shell(untilGo))
    const begun = await server.until(exec.exec_id, ({ image_id }) => image_id !== null)
    expect(begun).toMatchObject({ status: 'RUNNING', image: ownImage, image_id: idOf(ownImage) })
    await server.kill()
    const second = await start({ place: server.place })
    letGo(second)
    const told = { status: 'SUCCEEDED', image: ownImage, image_id: idOf(ownImage) }
    expect(await second.until(exec.exec_id, ended)).toMatchObject(told)
    expect(metaOf(second, exec)).toMatchObject(told)
  })

  it('are not run without it by a server that has no images', async () => {
    const first = await start({ settings: 'sandbox:\n  max_concurrent_execs: 1\n' })
    await first.begin(shell('sleep 600'))
    const [own, plain] = [await first.begin({ ...shell('true'), image: otherImage }), await first.begin(shell('true'))]
    await first.kill()
    const second = await startExecServer({ place: first.place, settings: 'sandbox:\n  max_concurrent_execs: 1\n' })
    try {
      expect(await second.until(own.exec_id, ended)).toMatchObject({ status: 'FAILED', error_reason: 'invalid_input' })
      const here = { status: 'SUCCEEDED', backend: 'bwrap', image: null, image_id: null }
      expect(await second.until(plain.exec_id, ended)).toMatchObject(here)
    } finally {
      await second.kill()
    }
  })

  it('that has not the program of their kind fail, and say what is missing', async () => {
    const server = await start()
    const asked = { project_id: 'demo', image: busyboxImage }
    for (const [kind, missing] of [['shell', 'bash'] as const, ['python', 'python3'] as const]) {
      const exec = await server.exec({ ...asked, exec: { kind, command: '1' } })
      expect(exec).toMatchObject({
        status: 'FAILED',
        exit_code: 127,
        error_reason: 'exit_nonzero',
        image: busyboxImage,
      })
      expect(textOf(server, exec.stderr_path)).toContain(`${missing}: not found`)
    }
  })
})
