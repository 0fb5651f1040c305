// A process that is all Glovebox's own and runs more than one command in its sandbox, as `glovebox run` does. Between the two it
// waits for a line, so that the host can change something. Arguments: the package, what the sandbox is made of, and the command.
import { createInterface } from 'node:readline'

const [, , packageDirectory, options, command] = process.argv
const { createSandbox } = await import(`${packageDirectory}/dist/runtime/create.js`)
const sandbox = await createSandbox({ ...JSON.parse(options), layers: [], ownsProcess: true })
const run = async () => (await sandbox.commands.run(['/bin/sh', '-c', command])).exitCode
const first = await run()
process.stdout.write('first\n')
const lines = createInterface({ input: process.stdin })
await new Promise((resolve) => lines.once('line', resolve))
const second = await run()
await sandbox.kill()
process.stdout.write(`${JSON.stringify({ first, second })}\n`)
process.exit(0)
