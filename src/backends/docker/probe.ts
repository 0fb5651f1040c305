// Is docker usable here, and if not, what mends it? The daemon and the runtime were asked for when the backend was opened. Here it is
// asked whether the image is still there, and the rest by trying: does a container start, and does it see what this host would mount
// into it?
import type { Probe } from '../../contract/backend.ts'
import type { DockerCli } from './cli.ts'
import { firstLine, unreachable, type DockerFacts } from './facts.ts'
import type { HeldImage } from './image.ts'
import { mountOperand } from './operands.ts'
import { smallestQuestion } from './watched.ts'

const answerMs = 5000

export async function probeDocker(cli: DockerCli, image: HeldImage): Promise<Probe> {
  const missing = await image.missing()
  const facts = image.facts()
  const version = `${facts.version}${facts.runtime === undefined ? '' : ` with ${facts.runtime}`}`
  const details = { cli: facts.cliPath, context: facts.context }
  // A container may take long to start where much is going on. Whether anybody answers at all is known sooner.
  const first = await cli.ask(smallestQuestion, { deadlineMs: answerMs, unlessAway: true })
  if (first.code !== 0) return { available: false, version, details, ...unreachable(first.stderr) }
  if (missing !== undefined) return { available: false, version, details, ...missing }
  const words = [
    'run',
    '--rm',
    '--pull=never',
    '--log-driver=none',
    '--network=none',
    '--cap-drop=ALL',
    '--security-opt=no-new-privileges',
    '--read-only',
    '--no-healthcheck',
    '--user=1000:1000',
    ...(facts.runtime === undefined ? [] : ['--runtime', facts.runtime]),
    '--mount',
    mountOperand(['type=bind', `source=${facts.searchProgram}`, 'target=/.glovebox/rg', 'readonly']),
    '--entrypoint',
    '/bin/sh',
    '--',
    facts.imageId,
    '-c',
    'command -v cp rm env >/dev/null && test -x /.glovebox/rg',
  ]
  const { code, stderr, isAway } = await cli.ask(words, { unlessAway: true })
  if (isAway === true) return { available: false, version, details, ...unreachable(stderr) }
  if (code === 0) return { available: true, version, details, notes: notesFor(facts) }
  const said = firstLine(stderr)
  return { available: false, version, details, reason: said === '' ? unfit(facts) : said, fix: fixFor(said, facts) }
}

const unfit = ({ image }: DockerFacts): string =>
  `a container of ${image} has no shell with cp, rm and env, or does not see the files of this host`

function fixFor(said: string, { runtime, image }: DockerFacts): string {
  if (runtime?.startsWith('runsc') === true && /network/i.test(said))
    return 'Give runsc the argument --network=none: "runtimeArgs" of the runtime in /etc/docker/daemon.json.'
  if (/bind source path does not exist/i.test(said))
    return 'The daemon runs on another machine: Glovebox needs one on this host, or one that shares its directories.'
  return `Run the same by hand to see more: docker run --rm --network=none ${image} true`
}

const notesFor = ({ context, image, operator, isGvisor }: DockerFacts): readonly string[] => [
  `context ${context}, image ${image}`,
  ...(operator.uid === 0
    ? ['started by root: the guest runs as the owner of the first writable mount, and never as root']
    : []),
  ...(isGvisor ? ['gVisor: the number of processes is not limited'] : []),
]
