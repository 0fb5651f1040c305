import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cases } from '../../test/fixtures/cases.ts'
import { capabilityNames } from '../contract/capability.ts'
import type { Denial } from '../contract/denial.ts'
import type { GuestPath, HostPath, Mount, MountMode } from '../contract/mount.ts'
import { observeDenials, type ObserveInput } from './denials.ts'
import { resolvePolicy } from './resolve.ts'

const mount = (guestPath: string, mode: MountMode): Mount => ({
  guestPath: guestPath as GuestPath,
  hostPath: `/srv${guestPath}` as HostPath,
  mode,
})
const policyOf = (values: object): ObserveInput['policy'] =>
  resolvePolicy([{ layer: 'settings', source: 'test', values }]).effective

const observe = (stderr: string, input: Partial<ObserveInput> = {}): Denial[] =>
  observeDenials({
    backend: 'glass',
    stderr,
    mounts: [mount('/workspace', 'rw'), mount('/workspace/ref', 'ro'), mount('/vault', 'vault')],
    policy: policyOf({ denyRead: ['/workspace/secret'] }),
    cwd: '/workspace' as GuestPath,
    enforced: capabilityNames.map((what) => ({ what, by: 'test' })),
    ...input,
  })
const seen = (stderr: string, input?: Partial<ObserveInput>): readonly string[] =>
  observe(stderr, input).map(({ kind, subject, rule }) => `${kind} ${subject} ${rule}`)

describe('denials observed in error output', () => {
  it.each([
    [
      'bash: line 1: .git/hooks/pre-commit: Read-only file system',
      'file.write /workspace/.git/hooks/pre-commit protected:.git/hooks',
    ],
    ["touch: cannot touch '/workspace/.bashrc': Permission denied", 'file.write /workspace/.bashrc protected:.bashrc'],
    ["mv: cannot move '.git' to 'x': Device or resource busy", 'file.write /workspace/.git protected:.git/hooks'],
    [
      'error: could not lock config file .git/config: Read-only file system',
      'file.write /workspace/.git/config protected:.git/config',
    ],
    [
      'fatal: cannot mkdir .git/objects: Read-only file system',
      'file.write /workspace/.git/objects protected:.git/hooks',
    ],
    [
      "OSError: [Errno 30] Read-only file system: '/workspace/ref/a b'",
      'file.write /workspace/ref/a b mount:/workspace/ref=ro',
    ],
    [
      "Error: EROFS: read-only file system, open '/workspace/ref/x'",
      'file.write /workspace/ref/x mount:/workspace/ref=ro',
    ],
    ['/bin/sh: 1: cannot create ref/x: Read-only file system', 'file.write /workspace/ref/x mount:/workspace/ref=ro'],
    [
      'Error: failed to write `ref/x`: Read-only file system (os error 30)',
      'file.write /workspace/ref/x mount:/workspace/ref=ro',
    ],
    ['cat: ./secret/../secret/key: Permission denied', 'file.read /workspace/secret/key denyRead:/workspace/secret'],
    ["ls: cannot open directory '/vault': Permission denied", 'file.read /vault mount:/vault=vault'],
    ['rm: cannot remove ‘.vscode’: Device or resource busy', 'file.write /workspace/.vscode protected:.vscode'],
    ["cp: cannot create regular file '/usr/bin/x': Read-only file system", 'file.write /usr/bin/x filesystem.isolated'],
    ['curl: (6) Could not resolve host: example.com', 'network example.com network.mode=none'],
    [
      'ssh: Could not resolve hostname github.com: Temporary failure in name resolution',
      'network github.com network.mode=none',
    ],
    ["wget: unable to resolve host address 'Example.com'", 'network example.com network.mode=none'],
    ['ping: example.com: Name or service not known', 'network example.com network.mode=none'],
    ['Error: getaddrinfo EAI_AGAIN registry.example.org', 'network registry.example.org network.mode=none'],
    [
      "fatal: unable to access 'https://git.example/x.git/': Could not resolve host: git.example",
      'network git.example network.mode=none',
    ],
    ['connect: Network is unreachable', 'network network network.mode=none'],
  ])('%s', (stderr, expected) => {
    expect(seen(`before\n${stderr}\nafter`)).toEqual([expected])
  })

  it('an ordinary lack of permission is not a denial', () => {
    expect(seen('bash: ./run.sh: Permission denied')).toEqual([])
    expect(seen('cat: /etc/shadow: Permission denied')).toEqual([])
    expect(seen('cat: /workspace/ref/private: Permission denied')).toEqual([])
    expect(seen('umount: /workspace/src: Device or resource busy')).toEqual([])
    expect(seen('cat: /workspace/secrets/key: Permission denied')).toEqual([])
    expect(seen('OSError: [Errno 30] Read-only file system', { cwd: '/workspace/ref' as GuestPath })).toEqual([])
  })

  it('a rule that is not enforced is never named', () => {
    const text =
      'x: .git/hooks/y: Read-only file system\ncurl: (6) Could not resolve host: example.com\ncat: secret: Permission denied'
    expect(seen(text)).toHaveLength(3)
    expect(seen(text, { enforced: [] })).toEqual([])
  })

  it('a failure of names is no denial where there is a network', () => {
    expect(seen('Could not resolve host: example.com', { policy: policyOf({ network: { mode: 'full' } }) })).toEqual([])
  })

  it('every denial is marked as observed and tells no host path', () => {
    const [denial] = observe('x: /workspace/ref/y: Read-only file system')
    expect(denial).toMatchObject({ backend: 'glass', evidence: 'observed', reason: 'The mount is read-only.' })
    expect(JSON.stringify(denial)).not.toContain('/srv')
  })

  it('repeats are told once, and no more than twenty are told', () => {
    expect(seen('cat: secret: Permission denied\n'.repeat(50))).toHaveLength(1)
    const many = Array.from({ length: 50 }, (_, index) => `cat: secret/${index}x: Permission denied`).join('\n')
    expect(seen(many)).toHaveLength(20)
  })

  it('a path with control or invisible characters is not repeated', () => {
    for (const hostile of ['\u001b[2J', '\u202e', '\r', '\u0000']) {
      expect(seen(`cat: '/workspace/secret/${hostile}': Permission denied`)).toEqual([])
    }
  })

  it('any text is read without failing, and yields at most twenty denials without control characters', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 3 }),
      fc.constant("\ncat: '/workspace/secret/"),
      fc.constant("': Permission denied"),
      fc.constantFrom(
        'Read-only file system',
        'Permission denied',
        '\n',
        "'",
        '"',
        '`',
        '‘',
        ': ',
        '/workspace/secret/',
        '.git/hooks',
        '../',
      ),
    )
    let told = 0
    const drawn = cases(500)
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const denials = observe(pieces.join(''))
        told += denials.length
        expect(denials.length).toBeLessThanOrEqual(20)
        for (const { subject } of denials) expect(subject).not.toMatch(/\p{Cc}/u)
      }),
      drawn,
    )
    expect(told).toBeGreaterThan(drawn.numRuns / 10)
  })

  it.each([
    ['one line without end', 'a'],
    ['nothing but line ends', '\n'],
    ['nothing but quotes', "'"],
    ['opening quotes', '‘'],
    ['beginnings of complaints', 'read-only file syste'],
    ['complaints on one line', 'Permission denied'],
    ['complaints on lines of their own', 'Permission denied\n'],
    ['complaints between quotes', '"\'`‘‘‘Permission denied\n'],
    ['dots of host names', 'a.a.a.a.a.a.a.a.a.a: Name or service not known\n'],
    ['deep paths', `${'../'.repeat(300)}: Read-only file system\n`],
  ])('10 MiB of %s are read in linear time', (_, unit) => {
    const size = 10 * 1024 * 1024
    const text = unit.repeat(Math.ceil(size / unit.length))
    const started = performance.now()
    observe(text)
    // In the square of its length it would take hours.
    expect(performance.now() - started).toBeLessThan(15_000)
  })
})
