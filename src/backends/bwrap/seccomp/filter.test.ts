import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cases } from '../../../../test/fixtures/cases.ts'
import { compileFilter } from './filter.ts'
import { decode, disassemble, interpret, verdictOf } from './interpret.test-support.ts'
import { callNumbers, findCallNumber, type Arch, type CallName } from './numbers.ts'
import type { Condition, Rule } from './rule.ts'
import { rules } from './rules.ts'

const arches = [
  { arch: 'x64', audit: 0xc000003e },
  { arch: 'arm64', audit: 0xc00000b7 },
] as const
const programs = {
  x64: decode(compileFilter({ arch: 'x64', pty: false }).bytes),
  arm64: decode(compileFilter({ arch: 'arm64', pty: false }).bytes),
}
const auditOf = (arch: Arch): number => (arch === 'x64' ? 0xc000003e : 0xc00000b7)

function ask(
  number: number,
  args: readonly (number | bigint)[] = [],
  arch: Arch = 'x64',
  audit = auditOf(arch),
): string {
  return verdictOf(interpret(programs[arch], { arch: audit, number, args: args.map(BigInt) }))
}
const askCall = (call: CallName, ...args: readonly (number | bigint)[]): string => ask(callNumbers[call].x64, args)

// The meaning of the table, read without the compiler: in big integers, and rule by rule.
function conditionHolds(condition: Condition, args: readonly bigint[]): boolean {
  const low = (args[condition.argument] ?? 0n) % 2n ** 32n
  const masked = low & BigInt(condition.mask)
  const values = condition.values.map(BigInt)
  if (condition.holds === 'anyBit') return values.some((bits) => (low & bits) > 0n)
  return values.includes(masked) === (condition.holds === 'oneOf')
}

function expectedVerdict(arch: Arch, number: number, args: readonly bigint[]): string {
  if (number > 469) return 'ENOSYS'
  const applies = (rule: Rule): boolean => rule.calls.some((call) => findCallNumber(call, arch) === number)
  const answering = rules.find((rule) => applies(rule) && (rule.when ?? []).every((one) => conditionHolds(one, args)))
  return answering?.answer ?? 'allow'
}

const interesting = [...new Set(rules.flatMap((rule) => rule.when ?? []).flatMap((condition) => condition.values))]
const argument = fc
  .tuple(
    fc.oneof(fc.constantFrom(...interesting), fc.integer({ min: 0, max: 300 }), fc.nat({ max: 0xffffffff })),
    fc.oneof(fc.constant(0), fc.constantFrom(...interesting), fc.constantFrom(0o755, 0x80000, 0o100000)),
    fc.oneof(fc.constant(0), fc.nat({ max: 0xffffffff })),
  )
  .map(([low, more, high]) => (BigInt(high) << 32n) + BigInt((low | more) >>> 0))
const sixArguments = fc.array(argument, { minLength: 6, maxLength: 6 })

describe.each(arches)('the filter for $arch', ({ arch, audit }) => {
  it('judges every number with any arguments as the table reads', () => {
    fc.assert(
      fc.property(sixArguments, (args) => {
        for (let number = 0; number <= 470; number += 1) {
          expect(verdictOf(interpret(programs[arch], { arch: audit, number, args }))).toBe(
            expectedVerdict(arch, number, args),
          )
        }
      }),
      cases(60),
    )
  })

  it('judges the calls whose arguments are read as the table reads', () => {
    const read = rules.filter((rule) => rule.when !== undefined).flatMap((rule) => rule.calls)
    const numbers = [...new Set(read.map((call) => findCallNumber(call, arch)))].filter((one) => one !== undefined)
    fc.assert(
      fc.property(fc.constantFrom(...numbers), sixArguments, (number, args) => {
        expect(ask(number, args, arch)).toBe(expectedVerdict(arch, number, args))
      }),
      cases(5000),
    )
  })

  it('kills every call of another architecture', () => {
    fc.assert(
      fc.property(fc.nat({ max: 0xffffffff }), fc.nat({ max: 500 }), (other, number) => {
        fc.pre(other !== audit)
        expect(ask(number, [], arch, other)).toBe('kill')
      }),
    )
  })

  it('is the program of the golden file', async () => {
    const { bytes, words } = compileFilter({ arch, pty: false })
    await expect(disassemble(decode(bytes))).toMatchFileSnapshot(`filter.${arch}.golden.txt`)
    await expect(`${words.join('\n')}\n`).toMatchFileSnapshot(`words.${arch}.golden.txt`)
  })

  it('gives the same bytes with and without a terminal, and says what they are worth', () => {
    const without = compileFilter({ arch, pty: false })
    const withTerminal = compileFilter({ arch, pty: true })
    expect(withTerminal.bytes).toEqual(without.bytes)
    expect(withTerminal.words.at(-1)).toContain('alone')
    expect(without.words.at(-1)).toContain('second defence')
  })
})

describe('the filter for x64', () => {
  it('kills calls of the x32 interface and lets their neighbours be', () => {
    expect(ask(0x40000000 + 39)).toBe('kill')
    expect(ask(0xffffffff)).toBe('kill')
    expect(ask(39)).toBe('allow')
  })

  it('does not know calls newer than the table', () => {
    expect([469, 470, 512, 547, 0x3fffffff].map((number) => ask(number))).toEqual([
      'allow',
      'ENOSYS',
      'ENOSYS',
      'ENOSYS',
      'ENOSYS',
    ])
  })

  const high = 1n << 32n
  const cases: readonly (readonly [CallName, readonly (number | bigint)[], string])[] = [
    ['openat', [0, 0, 0o101, 0o4755], 'EPERM'],
    ['openat', [0, 0, 0o20200002, 0o2755], 'EPERM'],
    ['openat', [0, 0, 0o101, 0o1755], 'allow'],
    ['openat', [0, 0, 0o1, 0o4755], 'allow'],
    ['open', [0, 0o100, 0o2000], 'EPERM'],
    ['open', [0, 0o100, 0o1777], 'allow'],
    ['open', [0, 0o200000, 0o6000], 'allow'],
    ['creat', [0, 0o4000], 'EPERM'],
    ['creat', [0, 0o1777], 'allow'],
    ['openat2', [], 'ENOSYS'],
    ['chmod', [0, 0o4755], 'EPERM'],
    ['chmod', [0, high + 0o4755n], 'EPERM'],
    ['chmod', [0o6000, 0o1777], 'allow'],
    ['fchmod', [3, 0o2755], 'EPERM'],
    ['fchmod', [3, 0o755], 'allow'],
    ['fchmodat', [0, 0o6000, 0o755], 'allow'],
    ['fchmodat', [0, 0, 0o6755], 'EPERM'],
    ['fchmodat2', [0, 0, 0o4000], 'EPERM'],
    ['fchmodat2', [0, 0, 0o1000], 'allow'],
    ['mknod', [0, 0o104755], 'EPERM'],
    ['mknod', [0, 0o020666], 'EPERM'],
    ['mknod', [0, 0o060666], 'EPERM'],
    ['mknod', [0, 0o010666], 'allow'],
    ['mknod', [0, 0o140666], 'allow'],
    ['mknodat', [0, 0, 0o020666], 'EPERM'],
    ['mknodat', [0, 0, 0o102755], 'EPERM'],
    ['mknodat', [0, 0o020666, 0o100644], 'allow'],
    ['ioctl', [0, 0x5412], 'EPERM'],
    ['ioctl', [0, high + 0x5412n], 'EPERM'],
    ['ioctl', [0, (0xffffffffn << 32n) + 0x541cn], 'EPERM'],
    ['ioctl', [0, 0x5423], 'EPERM'],
    ['ioctl', [0, 0x5411], 'allow'],
    ['ioctl', [0, 0x5413], 'allow'],
    ['ioctl', [0x5412, 0x5401], 'allow'],
    ['socket', [1, 1, 0], 'allow'],
    ['socket', [2, 0o2000001, 6], 'allow'],
    ['socket', [10, 2, 58], 'allow'],
    ['socket', [16, 3, 0], 'allow'],
    ['socket', [16, 3, 9], 'EPROTONOSUPPORT'],
    ['socket', [17, 3, 0], 'EAFNOSUPPORT'],
    ['socket', [40, 1, 0], 'EAFNOSUPPORT'],
    ['socket', [38, 5, 0], 'EAFNOSUPPORT'],
    ['socket', [high + 40n, 1, 0], 'EAFNOSUPPORT'],
    ['socket', [2, 3, 1], 'EPERM'],
    ['socket', [10, 0o2004003, 58], 'EPERM'],
    ['socket', [2, 10, 3], 'EPERM'],
    ['socket', [2, 1, 132], 'EPROTONOSUPPORT'],
    ['socket', [2, 1, 262], 'EPROTONOSUPPORT'],
    ['socketpair', [1, 1, 0], 'allow'],
    ['socketpair', [30, 1, 0], 'EAFNOSUPPORT'],
    ['clone', [0x3d0f00], 'allow'],
    ['clone', [17], 'allow'],
    ['clone', [0x10000011], 'EPERM'],
    ['clone', [high + 0x10000011n], 'EPERM'],
    ['unshare', [0x400], 'allow'],
    ...[0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000].map(
      (flag): [CallName, readonly number[], string] => ['unshare', [flag], 'EPERM'],
    ),
    ['clone3', [], 'ENOSYS'],
    ['personality', [0], 'allow'],
    ['personality', [8], 'allow'],
    ['personality', [0x40000], 'allow'],
    ['personality', [0xffffffff], 'allow'],
    ['personality', [0x400000], 'EPERM'],
    ['personality', [0x100000], 'EPERM'],
  ]
  const shown = (args: readonly (number | bigint)[]): string => args.map((one) => `0x${one.toString(16)}`).join(', ')
  it.each(cases.map(([call, args, verdict]) => [`${call}(${shown(args)})`, verdict, call, args] as const))(
    'answers %s with %s',
    (_, verdict, call, args) => {
      expect(askCall(call, ...args)).toBe(verdict)
    },
  )

  const always = rules.filter((rule) => rule.when === undefined)
  it.each(always.flatMap((rule) => rule.calls.map((call) => [call, rule.answer] as const)))(
    'answers %s with %s whatever is asked',
    (call, answer) => {
      expect(askCall(call)).toBe(answer)
      expect(askCall(call, ...Array.from({ length: 6 }, () => 2n ** 64n - 1n))).toBe(answer)
    },
  )

  it('allows what ordinary programs need', () => {
    const ordinary = {
      read: 0,
      mmap: 9,
      fork: 57,
      vfork: 58,
      execve: 59,
      kill: 62,
      mkdir: 83,
      futex: 202,
      mkdirat: 258,
    }
    const newer = {
      seccomp: 317,
      memfd_create: 319,
      statx: 332,
      rseq: 334,
      pidfd_open: 434,
      close_range: 436,
      mseal: 462,
    }
    for (const number of Object.values({ ...ordinary, ...newer }))
      expect(ask(number, [0, 0o6777, 0o6777])).toBe('allow')
  })
})
