// A program that runs a command on `local` whose output cuts a host path in two at every place, and tells what was seen.
import { Sandbox } from './dist/index.js'

const [workspace] = process.argv.slice(2)
const sandbox = await Sandbox.create({
  backend: 'local',
  mounts: [{ guestPath: '/workspace', hostPath: workspace, mode: 'rw' }],
})
const streamed = { stdout: '', stderr: '' }
const decoder = { stdout: new TextDecoder(), stderr: new TextDecoder() }
const take = (name) => (chunk) => void (streamed[name] += decoder[name].decode(chunk, { stream: true }))
// The path is learnt at run time, so that nothing in the command's own text is rewritten.
const command = `
  p=$(pwd -P); n=\${#p}
  for i in $(seq 1 $((n - 1))); do
    printf '%s' "\${p:0:i}"; printf '%s' "\${p:0:i}" >&2; sleep 0.01
    printf '%s/name\\n' "\${p:i}"; printf '%s/name\\n' "\${p:i}" >&2
  done
  echo "$n" > length`
const result = await sandbox.commands.run(['bash', '-c', command], {
  onStdout: take('stdout'),
  onStderr: take('stderr'),
})
const length = Number(await sandbox.files.read('/workspace/length'))
await sandbox.kill()
process.stdout.write(
  `${JSON.stringify({ exitCode: result.exitCode, stdout: result.stdout, stderr: result.stderr, streamed, length })}\n`,
)
