import { describe, expect, it } from 'vitest'
import type { LastingCommand, LastingCommands, LastingExit } from '../../contract/lasting.ts'
import type { HostPath } from '../../contract/mount.ts'
import type { DockerCli } from './cli.ts'
import type { DockerFacts } from './facts.ts'
import { withImage } from './image-of-lasting.ts'
import { factsFor, holdImage } from './image.ts'

const id = (letter: string): string => `sha256:${letter.repeat(64)}`

const opened: DockerFacts = {
  cliPath: '/usr/bin/docker',
  version: '27.1.0',
  context: 'default',
  image: 'team/tools:1',
  imageId: id('a'),
  runtime: undefined,
  isGvisor: false,
  holds: { memory: true, cpu: true, pids: true },
  seccomp: true,
  isHere: true,
  showsInodes: true,
  readOnlyIsDeep: true,
  operator: { uid: 1234, gid: 1234 },
  searchProgram: '/opt/package/rg' as HostPath,
}

/** A daemon with these images, by their names and ids. */
function daemonWith(images: Readonly<Record<string, string>>) {
  const told = { images, asked: [] as string[], now: 0, isAway: false }
  const cli: DockerCli = {
    async ask(args) {
      const name = args.at(-1) ?? ''
      told.asked.push(name)
      if (told.isAway) return { code: 1, stdout: '', stderr: 'Cannot connect to the Docker daemon' }
      const found = told.images[name] ?? (Object.values(told.images).includes(name) ? name : undefined)
      return found === undefined
        ? {
            code: 1,
            stdout: '\n',
            stderr: `Error response from daemon: no such image: ${name}: No such image: ${name}\n`,
          }
        : { code: 0, stdout: `${found}\n`, stderr: '' }
    },
    startAside: () => expect.fail('nothing is to be started'),
    start: () => expect.fail('nothing is to be started'),
  }
  return Object.assign(told, { image: holdImage(cli, opened, () => told.now) })
}

const complaintOf = (letter: string): string => `docker: Error response from daemon: No such image: ${id(letter)}`
const complaint = complaintOf('a')

describe('the image of a backend', () => {
  it('is the one that its name meant first, as long as that is there', async () => {
    const told = daemonWith({ 'team/tools:1': id('b'), 'of nobody': id('a') })
    told.now = 10_000
    expect(await told.image.missing()).toBe(undefined)
    await told.image.require()
    expect([told.image.facts().imageId, told.image.isGone()]).toEqual([id('a'), false])
    expect(told.asked).toEqual([id('a')])
  })

  it('is for a plan the one that it was made for, whatever the name means since then', async () => {
    const told = daemonWith({ 'team/tools:1': id('b') })
    const plan = { image: { name: 'team/tools:1', id: told.image.facts().imageId } }
    told.now = 10_000
    await told.image.missing()
    expect([told.image.facts().imageId, factsFor(plan, told.image.facts()).imageId]).toEqual([id('b'), id('a')])
    expect(factsFor({}, told.image.facts())).toEqual(told.image.facts())
    // Docker misses it, and so nothing of the plan has run.
    expect(told.image.isWhy(complaint)).toBe(true)
  })

  it('is asked for by one for all, and not where it was just seen', async () => {
    const told = daemonWith({ 'team/tools:1': id('a') })
    await told.image.missing()
    expect(told.asked).toEqual([])
    told.now = 10_000
    await Promise.all([told.image.missing(), told.image.missing()])
    await told.image.missing()
    expect(told.asked).toEqual([id('a')])
  })

  it('is another one when it was built anew and the old one was removed', async () => {
    const told = daemonWith({ 'team/tools:1': id('b') })
    told.now = 10_000
    expect(await told.image.missing()).toBe(undefined)
    expect(told.image.facts()).toEqual({ ...opened, imageId: id('b') })
  })

  it('is looked for under its name when docker found none, and nothing begins until there is one', async () => {
    const told = daemonWith({})
    for (const other of ['docker: no space left on device', '']) expect(told.image.isWhy(other), other).toBe(false)
    await told.image.require()
    expect(told.asked).toEqual([])
    expect([told.image.isWhy(complaint), told.image.isGone()]).toEqual([true, true])
    const refused = { code: 'BACKEND_UNAVAILABLE', message: 'Cannot use docker: the image team/tools:1 is not there' }
    await expect(told.image.require()).rejects.toMatchObject(refused)
    expect(await told.image.missing()).toMatchObject({ reason: 'the image team/tools:1 is not there' })
    expect(told.asked).toEqual(['team/tools:1', 'team/tools:1'])
    // Whether it is there is asked by anybody.
    for (let asked = 0; asked < 3; asked++) expect(await told.image.isThere()).toBe(false)
    expect(told.asked).toHaveLength(2)
    told.now = 10_000
    expect(await told.image.isThere()).toBe(false)
    expect(told.asked).toHaveLength(3)
    told.images = { 'team/tools:1': id('c') }
    await told.image.require()
    expect([told.image.facts().imageId, told.image.isGone()]).toEqual([id('c'), false])
    expect(await told.image.isThere()).toBe(true)
    expect(told.asked).toHaveLength(4)
    // What a container could not be made of is looked for by the next who asks.
    told.image.isWhy(complaintOf('c'))
    expect(await told.image.isThere()).toBe(true)
    expect(told.asked).toHaveLength(5)
  })

  it('is not taken for gone where another one is: neither one that has nothing to do with it, nor the one before', async () => {
    const told = daemonWith({ 'team/tools:1': id('b') })
    expect([told.image.isWhy(complaintOf('c')), told.image.isGone()]).toEqual([false, false])
    told.now = 10_000
    await told.image.missing()
    expect([told.image.facts().imageId, told.image.isWhy(complaint), told.image.isGone()]).toEqual([
      id('b'),
      true,
      false,
    ])
  })

  it('is not taken for gone by a daemon that does not answer, nor for there if it was gone', async () => {
    const told = daemonWith({ 'team/tools:1': id('b') })
    told.now = 10_000
    told.isAway = true
    expect([await told.image.missing(), await told.image.isThere(), told.image.isGone()]).toEqual([
      undefined,
      true,
      false,
    ])
    told.image.isWhy(complaint)
    expect(await told.image.missing()).toMatchObject({ reason: expect.stringContaining('daemon does not answer') })
    expect([told.image.facts().imageId, told.image.isGone()]).toEqual([id('a'), true])
  })
})

describe('a lasting command', () => {
  const lastingWhoseCommand = (exit: LastingExit): LastingCommands => {
    const command = { follow: async () => exit } as unknown as LastingCommand
    return { start: async () => command, find: async () => command, sweep: async () => {} }
  }
  const options = { from: { stdout: 0, stderr: 0 }, onStdout: () => {}, onStderr: () => {} }
  const begin = (lasting: LastingCommands): Promise<LastingCommand> => lasting.start('sbx_1', {} as never, {} as never)

  it('whose image is gone says so, and the next is refused or has another one', async () => {
    const told = daemonWith({})
    const lasting = withImage(lastingWhoseCommand({ setupFailed: complaint }), told.image)
    const unavailable = { code: 'BACKEND_UNAVAILABLE', hint: expect.stringContaining('Nothing has run') as string }
    await expect((await begin(lasting)).follow(options)).rejects.toMatchObject(unavailable)
    await expect(begin(lasting)).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' })
    told.images = { 'team/tools:1': id('b') }
    await begin(lasting)
    expect(told.image.facts().imageId).toBe(id('b'))
  })

  it('that was found again says so too, and any other end stays what it is', async () => {
    const { image } = daemonWith({})
    const ends: readonly LastingExit[] = [{ code: 125 }, { setupFailed: 'docker: no space left' }, { lost: complaint }]
    for (const exit of ends) {
      const found = (await withImage(lastingWhoseCommand(exit), image).find('sbx_1')) as LastingCommand
      expect(await found.follow(options)).toEqual(exit)
    }
    expect(image.isGone()).toBe(false)
    const found = await withImage(lastingWhoseCommand({ setupFailed: complaint }), image).find('sbx_1')
    await expect((found as LastingCommand).follow(options)).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' })
    expect(image.isGone()).toBe(true)
  })

  it('that was to run in another image, which is gone, says so, and leaves the one of the backend alone', async () => {
    const { image } = daemonWith({})
    const found = await withImage(lastingWhoseCommand({ setupFailed: complaintOf('c') }), image).find('sbx_1')
    await expect((found as LastingCommand).follow(options)).rejects.toMatchObject({
      code: 'BACKEND_UNAVAILABLE',
      message: 'Cannot use docker: the image of the command was removed',
    })
    expect(image.isGone()).toBe(false)
  })
})
