// The host has mounts that are none of ours, and those of containers come and go. Whoever binds the root goes through all of them, one
// after another, and fails by chance where one goes meanwhile. Here is one that can never be gone through: behind the root that bwrap
// builds, its path is longer than the kernel takes. So whatever binds the root fails every time.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { finished, resultOf } from './finished.ts'
import { faultGround, starters, type FaultGround } from './ground.ts'

/** Of the mount's path on the host: all that a path may have. */
const pathLength = 4095
const nameLength = 200

// In a mount namespace of its own, down one name after another, since no single call could make all of it.
const script = [
  'cd -- "$1"; shift; name=$(printf "%0200d" 0)',
  `while here=$(pwd -P); left=$((${pathLength} - \${#here} - 1)); [ "$left" -gt ${nameLength} ]; do`,
  `  [ "$left" -gt ${nameLength + 1} ] || name=\${name#0}`,
  '  mkdir -p -- "$name" && cd -- "$name" || exit 99',
  'done',
  'mkdir -p "$(printf "%0${left}d" 0)" && mount -n -i -c -t tmpfs far "$(printf "%0${left}d" 0)" || exit 99',
  'cd / && "$@"',
].join('\n')

let ground: FaultGround
let under: readonly string[]

describe.skipIf(!starters.includes('root'))('beside a mount that nobody can go through, started by root', () => {
  beforeEach(() => {
    ground = faultGround('root')
    under = ['unshare', '-m', '--propagation', 'private', 'sh', '-c', script, 'sh', ground.makeDirectory('far')]
  })
  afterEach(() => ground.remove())

  it('a bwrap that binds the root fails (the control)', async () => {
    const bwrap = ['bwrap', '--unshare-user', '--ro-bind', '/', '/', '--', 'true']
    const { code, stderr } = await finished(ground.startHost('owners.mjs', [], { under: [...under, ...bwrap] }))
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('File name too long') })
  })

  it('sandboxes are made for workspaces of every owner', async () => {
    const host = ground.startHost('owners.mjs', [ground.makeDirectory('owned'), '3'], { under })
    expect(await resultOf(host)).toEqual(['in', 'in', 'in'])
  })

  it('the command line runs its command, and bwrap is told to work here', async () => {
    const cwd = ground.makeDirectory('project')
    const enter = `cd -- '${cwd}' && "$@"`
    const start = (args: readonly string[]) =>
      finished(ground.startCli(args, { cwd, under: [...under, 'sh', '-c', enter, 'sh'] }))
    expect(await start(['exec', '--', 'echo', 'in'])).toMatchObject({ code: 0, stdout: 'in\n', stderr: '' })
    const { backends } = JSON.parse((await start(['doctor', '--json'])).stdout) as {
      readonly backends: readonly { readonly name: string }[]
    }
    expect(backends.find(({ name }) => name === 'bwrap')).toMatchObject({ probe: { available: true }, usable: true })
  })
})
