// A hostile program that wants out. The control runs the same attempts with the host's network.
import { networkInterfaces } from 'node:os'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HostError, openHost, probeFile, starters, target, undefended, whereNetworkOpens } from './host.ts'
import type { AttackHost, Guest } from './host.ts'
import { listen, listenForDatagrams, type Listener } from './listeners.ts'

const external = Object.values(networkInterfaces())
  .flatMap((each) => each ?? [])
  .find((each) => each.family === 'IPv4' && !each.internal)?.address
const hasIpv6 = Object.values(networkInterfaces()).some((each) => each?.some(({ address }) => address === '::1'))

let tcp: Listener
let tcp6: Listener | undefined
let udp: Listener
let udp6: Listener | undefined
beforeAll(async () => {
  tcp = await listen({ host: '0.0.0.0', port: 0 })
  udp = await listenForDatagrams('0.0.0.0')
  if (hasIpv6) [tcp6, udp6] = [await listen({ host: '::1', port: 0 }), await listenForDatagrams('::1')]
})
afterAll(() => {
  for (const listener of [tcp, tcp6, udp, udp6]) listener?.close()
})
const visits = (): number => [tcp, tcp6, udp, udp6].reduce((sum, each) => sum + (each?.visits() ?? 0), 0)

const connectUndefended = async (words: readonly string[]): Promise<Record<string, string>> =>
  JSON.parse((await undefended([await probeFile('connect.py'), ...words])).stdout) as Record<string, string>

describe.each(starters)('network mode none, started by %s', (starter) => {
  let host: AttackHost
  let guest: Guest
  beforeAll(async () => {
    host = await openHost(starter, { env: { HTTP_PROXY: `http://127.0.0.1:${tcp.port}`, NO_PROXY: '*' } })
    guest = await host.sandbox()
  })
  afterAll(() => host.close())

  const connect = async (words: readonly string[]): Promise<Record<string, string>> =>
    JSON.parse((await guest.probe('connect.py', words)).stdout) as Record<string, string>
  const unreached = /^(ECONNREFUSED|ENETUNREACH|EHOSTUNREACH|EADDRNOTAVAIL|EPERM|EACCES|EPROTONOSUPPORT)$/

  it("with mode none nothing is reached, not even the host's loopback", async () => {
    const own = ['127.0.0.1', '127.0.0.2', '0.0.0.0', ...(external === undefined ? [] : [external])]
    const words = [...own.map((address) => `tcp:${address}:${tcp.port}`), ...(tcp6 ? [`tcp:::1:${tcp6.port}`] : [])]
    const before = visits()
    for (const [word, answer] of Object.entries(await connect(words))) expect(answer, word).toMatch(unreached)
    expect(visits()).toBe(before)
    expect(Object.values(await connectUndefended(words))).toEqual(words.map(() => 'canary'))
  })

  it('datagrams, ICMP and raw packets do not leave', async () => {
    const words = [
      `udp:127.0.0.1:${udp.port}`,
      ...(udp6 ? [`udp:::1:${udp6.port}`] : []),
      ...(external ? [`udp:${external}:${udp.port}`] : []),
    ]
    const before = visits()
    for (const [word, answer] of Object.entries(await connect(words))) expect(answer, word).toMatch(unreached)
    const packets = await connect(['ping:192.0.2.1', 'raw:192.0.2.1', 'raw:2001:db8::1', 'udp:192.0.2.1:443'])
    for (const [word, answer] of Object.entries(packets)) expect(answer, word).toMatch(unreached)
    expect(visits()).toBe(before)
    expect(Object.values(await connectUndefended(words))).toEqual(words.map(() => 'canary'))
  })

  it('addresses of clouds and of the wider network have no route', async () => {
    const metadata = [
      '169.254.169.254',
      '100.100.100.200',
      '168.63.129.16',
      'fd00:ec2::254',
      '8.8.8.8',
      '::ffff:169.254.169.254',
    ]
    const answers = await connect(metadata.map((address) => `tcp:${address}:80`))
    for (const [word, answer] of Object.entries(answers)) expect(answer, word).toMatch(unreached)
    const look = 'cut -d: -f1 /proc/net/dev | tail -n +3 | tr -d " "; tail -n +2 /proc/net/route'
    expect((await guest.run(look)).stdout).toBe('lo\n')
    // The control has the host's interfaces; on a machine without any but lo, its loopback is the host's all the same.
    const there = (await undefended(look)).stdout
    expect(
      there.split('\n').length > 2 ||
        (await connectUndefended([`tcp:127.0.0.1:${tcp.port}`]))[`tcp:127.0.0.1:${tcp.port}`] === 'canary',
    ).toBe(true)
  })

  it('no question reaches a name server', async () => {
    const before = visits()
    const [name, carried] = Object.values(await connect(['name:secret.example.com', `resolve:127.0.0.1:${udp.port}`]))
    expect(name).toBe('UNKNOWN')
    expect(carried).toMatch(unreached)
    expect(visits()).toBe(before)
    expect(Object.values(await connectUndefended([`resolve:127.0.0.1:${udp.port}`]))).toEqual(['canary'])
  })

  it('the environment does not open the network', async () => {
    const proxy = `http://127.0.0.1:${tcp.port}`
    const before = visits()
    const command = `env | grep -i proxy; unset NO_PROXY; python3 -c "import urllib.request as u; u.urlopen('http://example.com', timeout=1)"`
    const env = { http_proxy: proxy, HTTP_PROXY: proxy, ALL_PROXY: proxy, NO_PROXY: '' }
    expect((await guest.run(command)).stdout).toBe('')
    expect((await guest.run(command, { env })).exitCode).not.toBe(0)
    expect(visits()).toBe(before)
    await undefended(command, { env: { http_proxy: proxy } })
    expect(visits()).toBe(before + 1)
  })

  it('a request cannot open the network', async () => {
    const refused = { code: 'POLICY_ESCALATION' }
    await expect(host.sandbox({ policy: { network: { mode: 'full' } } })).rejects.toMatchObject(refused)
    await expect(
      host.sandbox({ policy: { network: { mode: 'allowlist', allow: ['example.com'] } } }),
    ).rejects.toMatchObject(refused)
    const opened = await host.sandbox({
      ...whereNetworkOpens,
      settings: { network: { mode: 'full' }, ceilings: { network: { mode: 'full' } } },
    })
    const word = `tcp:127.0.0.1:${tcp.port}`
    expect(JSON.parse((await opened.probe('connect.py', [word])).stdout)).toEqual({ [word]: 'canary' })
    await opened.kill()
  })

  it('an empty allow-list denies everything', async () => {
    const network = { mode: 'allowlist', allow: [] as string[] } as const
    const word = `tcp:127.0.0.1:${tcp.port}`
    const before = visits()
    const made = await host.sandbox({ settings: { network, ceilings: { network } } }).catch((error: unknown) => error)
    // Where the backend has no filter for names, the mode is refused as a whole; never read as "no restriction".
    if (made instanceof HostError) expect(made.code).toBe('POLICY_UNENFORCEABLE')
    else
      expect(JSON.parse((await (made as Guest).probe('connect.py', [word])).stdout)).toEqual({
        [word]: expect.stringMatching(unreached) as string,
      })
    expect(visits()).toBe(before)
    expect(await connectUndefended([word])).toEqual({ [word]: 'canary' })
  })

  it('a host name with a NUL is refused', async () => {
    const invalid = { code: expect.stringMatching(/^INVALID_/) as string }
    for (const name of ['evil.com\0.example.com', 'evil.com\n.example.com', 'example.com evil.com', 'exämple.com']) {
      const network = { mode: 'allowlist' as const, allow: [name] }
      const settings = { network, ceilings: { network } }
      for (const attacked of [target, { backend: 'local' }])
        await expect(host.sandbox({ ...attacked, settings }), JSON.stringify(name)).rejects.toMatchObject(invalid)
    }
    // A name without one gets further: to the question whether the backend can hold it at all.
    const network = { mode: 'allowlist' as const, allow: ['example.com'] }
    const plain = await host.sandbox({ settings: { network, ceilings: { network } } }).catch((error: unknown) => error)
    if (plain instanceof HostError) expect(plain.code).toBe('POLICY_UNENFORCEABLE')
  })
})
