// The attempts of the filter's table once more, in the whole sandbox of whatever is attacked. On bwrap the answers must be the filter's own. A
// container has another filter, or another kernel: there each call must be refused for what it is, and not for its arguments.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readAnswers, type Answers } from './attempts.ts'
import { describeWhere } from './describe-where.ts'
import {
  attackedBackend,
  openControlGround,
  openHost,
  probeFile,
  starters,
  undefended,
  type AttackHost,
  type ControlGround,
  type Guest,
} from './host.ts'
import { attacksEverywhere, attacksOnX64, attemptsOf, type Attack, type Attempt } from './seccomp-attempts.ts'

/** Of a filter, of a missing capability, and of a kernel that has no such thing. EFAULT, EBADF and EINVAL would be answers of the call itself. */
const refusals = /^(EPERM|EACCES|ENOSYS|ENODEV|ENOTTY|EAFNOSUPPORT|EPROTONOSUPPORT|ESOCKTNOSUPPORT|EOPNOTSUPP|SIGSYS)$/

let ground: ControlGround
let control: Answers
let controlOfPython: unknown
beforeAll(async () => {
  ground = openControlGround()
  const cwd = ground.directory
  control = readAnswers((await undefended([await probeFile('syscalls.c')], { cwd })).stdout)
  controlOfPython = JSON.parse((await undefended([await probeFile('syscalls.py')], { cwd })).stdout)
})
afterAll(() => ground.close())

const hasX64 = describeWhere(process.arch === 'x64', 'only x64 has these calls')

describe.each(starters)('system calls, started by %s', (starter) => {
  let host: AttackHost
  let guest: Guest
  let answers: Answers
  beforeAll(async () => {
    host = await openHost(starter)
    guest = await host.sandbox()
    answers = readAnswers((await guest.probe('syscalls.c', [], { cwd: '/tmp' })).stdout)
  })
  afterAll(() => host.close())

  const refuses = ([name, byFilter]: Attempt): boolean => {
    const answer = answers.get(name) ?? 'UNPREPARED'
    if (attackedBackend === 'bwrap') return answer === byFilter
    if (answer === 'OK' || answer === 'UNPREPARED') return false
    // What succeeds where nothing defends has no fault that could be complained of.
    return control.get(name) === 'OK' || refusals.test(answer)
  }
  const isRefused = (_title: string, attack: Attack): void => {
    const attempts = attemptsOf(attack)
    expect(attempts.filter((attempt) => !refuses(attempt)).map(([name]) => [name, answers.get(name)])).toEqual([])
    const succeeding = attempts.filter(([, , shown]) => shown === 'succeeds').map(([name]) => name)
    expect(
      succeeding.filter((name) => control.get(name) !== 'OK'),
      'control',
    ).toEqual([])
  }

  it.each(attacksEverywhere)('%s', isRefused)
  hasX64('of x64', () => {
    it.each(attacksOnX64)('%s', isRefused)
  })

  // The guest could write into the memory of a first process that had none.
  it('the filter holds the first process of the namespace too', async () => {
    const ask = 'grep -h ^Seccomp: /proc/1/status /proc/self/status'
    expect((await guest.run(ask)).stdout).toBe('Seccomp:\t2\nSeccomp:\t2\n')
    expect((await undefended(ask)).stdout, 'control').toBe('Seccomp:\t0\nSeccomp:\t0\n')
  })

  it('the filter holds against a guest that writes Python', async () => {
    const found = await guest.probe('syscalls.py', [], { cwd: '/tmp' })
    expect(JSON.parse(found.stdout)).toEqual({
      chmod: 'EPERM',
      tar: 'PLAIN',
      device: 'EPERM',
      terminal: 'EPERM',
      packet: 'EAFNOSUPPORT',
      netfilter: 'EPROTONOSUPPORT',
    })
    expect(controlOfPython, 'control').toMatchObject({ chmod: 'OK', tar: 'SET-ID', device: 'OK' })
  })
})
