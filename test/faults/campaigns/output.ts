// 2 GB from the guest, through the library and the command line, started by root and by an ordinary user.
// Usage: script/campaign output [bytes]
import { allowedFor, allowedGrowthMiB, flood, floodCommandLine } from '../floods.ts'
import { faultGround, starters } from '../ground.ts'

const bytes = Number(process.argv[2] ?? 2 * 1024 ** 3)
const limit = 1024 ** 2
/** Of policy, for what an operator may set. */
const highestLimit = 500 * 1024 ** 2
const faults: string[] = []
const check = (what: string, holds: boolean): void => void (holds || faults.push(what))

for (const starter of starters) {
  const ground = faultGround(starter)
  const workspace = ground.makeDirectory('workspace')

  const library = await flood(ground, 'flood', { workspace, bytes })
  console.log(`library, started by ${starter}: ${JSON.stringify(library)}`)
  check(`${starter}: every byte was counted`, library.stdoutTotal === bytes && library.stderrTotal === bytes)
  check(`${starter}: the head was kept`, library.stdoutKept === limit && library.stderrKept === limit)
  check(`${starter}: truncation was told`, library.stdoutTruncated && library.stderrTruncated)
  check(`${starter}: the exit code was kept`, library.exitCode === 7)
  check(`${starter}: memory is bounded`, library.grewMiB <= allowedGrowthMiB)

  const idle = await floodCommandLine(ground, { workspace, bytes: 0, flags: [] })
  for (const flags of [[], ['--json'], ['--max-stdout', String(Math.min(bytes, highestLimit))]]) {
    const { code, stdout, peakMiB } = await floodCommandLine(ground, { workspace, bytes, flags })
    const grewMiB = peakMiB - idle.peakMiB
    console.log(`exec ${flags.join(' ')}, started by ${starter}: exit ${code}, grew ${grewMiB.toFixed(1)} MiB`)
    check(`${starter} ${flags.join(' ')}: the exit code was kept`, code === 7)
    check(`${starter} ${flags.join(' ')}: memory is bounded`, grewMiB <= allowedFor(flags))
    if (flags[0] !== '--json') continue
    const told = JSON.parse(stdout) as { stdoutTruncated: boolean; stdout: string; exitCode: number }
    check(
      `${starter} --json: truncation was told`,
      told.stdoutTruncated && told.stdout.length === limit && told.exitCode === 7,
    )
  }
  ground.remove()
}
for (const fault of faults) console.log(`NOT HELD: ${fault}`)
if (faults.length === 0) console.log('output is bounded')
process.exitCode = faults.length === 0 ? 0 : 1
