// The symlink swap at full length: 100,000 tries against the contained walk, and a naive control that must leak.
// Usage: script/campaign symlink-race [tries]
import { symlinkRace } from '../symlink-race.ts'

const tries = Number(process.argv[2] ?? 100_000)
const startedAt = performance.now()
const contained = await symlinkRace({ tries, naive: false })
const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
console.log(`contained: ${JSON.stringify(contained)} in ${seconds} s`)
const naive = await symlinkRace({ tries: 10 * tries, naive: true, untilLeak: true })
console.log(`naive control: ${JSON.stringify(naive)}`)

const raceTookPlace = contained.reads > 0 && contained.writes > 0 && contained.refusals > 0
const holds = contained.leaks === 0 && contained.tries === tries && raceTookPlace && naive.leaks > 0
console.log(holds ? `${contained.leaks} leaks in ${contained.tries} tries; the naive control leaked` : 'NOT HELD')
process.exitCode = holds ? 0 : 1
