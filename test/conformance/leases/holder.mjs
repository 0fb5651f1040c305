// Takes a lease in the directory that is named, tells its token, and holds it until it is killed.
import { uptime } from 'node:os'
import { openFileLeases } from '../../../dist/pool/file-leases/open.js'

const leases = openFileLeases({ directory: process.argv[2], nowMs: () => uptime() * 1000, ttlMs: 60_000 })
const answer = await leases.take('sbx_a000000000000000')
process.stdout.write(`${answer.granted ? answer.token : 0}`)
setInterval(() => {}, 60_000)
