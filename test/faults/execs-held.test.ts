// What was ended is over, whoever still holds its output, or seems to: it keeps neither its place nor its pipes.
import { describe, expect, it } from 'vitest'
import { isRequired } from '../conformance/required.ts'
import { shell } from '../fixtures/exec-server.ts'
import { containersAt, dockerHasImage, execTarget } from './exec-targets.ts'
import { ended, serversOn, textOf, until } from './lasting-execs.ts'

const isHere = dockerHasImage('glovebox/sandbox:latest')

const python = (lines: readonly string[]) => ({
  project_id: 'demo',
  exec: { kind: 'python', command: lines.join('\n') },
})

/** Two execs of a project share a directory, and a socket in it takes descriptors from one to the other. */
const giving = python([
  'import socket, time',
  'door = socket.socket(socket.AF_UNIX)',
  'door.bind("door")',
  'door.listen()',
  'print("begun", flush=True)',
  'socket.send_fds(door.accept()[0], [b"x"], [1])',
  'time.sleep(300)',
])
const taking = python([
  'import os, socket, sys, time',
  'door = socket.socket(socket.AF_UNIX)',
  'door.connect("door")',
  'taken = socket.recv_fds(door, 1, 1)[1][0]',
  'print("taken", flush=True)',
  'while True:',
  '  try: os.write(taken, b"from elsewhere\\n")',
  '  except BrokenPipeError: sys.exit(7)',
  '  time.sleep(0.1)',
])

describe.skipIf(!isHere && !isRequired('docker'))('execs that are ended', () => {
  const start = serversOn(execTarget('docker'))

  it('one that has handed its output to another ends all the same, and that one writes to nobody', async () => {
    const server = await start()
    const giver = await server.begin(giving)
    await until(() => textOf(server, giver.stdout_path).includes('begun'))
    const taker = await server.begin(taking)
    // Control: it does write to the other's.
    await until(() => textOf(server, giver.stdout_path).includes('from elsewhere'))
    await until(() => textOf(server, taker.stdout_path) === 'taken\n')
    await server.ask('POST', `/sandbox/execs/${giver.exec_id}/cancel`)
    expect(await server.until(giver.exec_id, ended)).toMatchObject({ status: 'CANCELLED' })
    expect(await server.until(taker.exec_id, ended)).toMatchObject({ status: 'FAILED', exit_code: 7 })
    await until(() => containersAt(server.place).length === 0)
  })

  it('one that another server began, of whose processes none can be seen from here, ends at its time', async () => {
    const unseen = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child']
    const first = await start({ under: unseen })
    const exec = await first.begin({ ...shell('echo begun; sleep 300'), policy_overrides: { timeout_ms: 15_000 } })
    await until(() => textOf(first, exec.stdout_path) === 'begun\n')
    await first.kill()
    const second = await start({ place: first.place })
    expect(await second.until(exec.exec_id, ended)).toMatchObject({ status: 'TIMEOUT' })
    await until(() => containersAt(second.place).length === 0)
  })
})
