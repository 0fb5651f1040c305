// A program that runs one talkative command through the library and tells, as JSON, what came of it and what it cost.
// Arguments: scenario, workspace, bytes.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Sandbox } from './dist/index.js'

const [scenario, workspace, bytesText] = process.argv.slice(2)
const bytes = Number(bytesText)
const mounts = [{ guestPath: '/workspace', hostPath: workspace, mode: 'rw' }]
const large = 256 * 1024 * 1024
const roomy = {
  maxStdoutBytes: large,
  maxStderrBytes: large,
  ceilings: { maxStdoutBytes: large, maxStderrBytes: large },
}
const sha256 = (data) => createHash('sha256').update(data).digest('hex')

/** The most memory that this process has ever had in use. */
const peakMiB = () => Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]) / 1024

async function withSandbox(options, use) {
  const sandbox = await Sandbox.create({ mounts, ...options })
  try {
    await sandbox.commands.run(['true'])
    const before = peakMiB()
    const startedAt = performance.now()
    const result = await use(sandbox)
    return { ...result, grewMiB: peakMiB() - before, tookMs: performance.now() - startedAt }
  } finally {
    await sandbox.kill()
  }
}

const facts = ({ ended, exitCode, stdoutBytes, stderrBytes, ...rest }) => ({
  ended,
  exitCode,
  stdoutKept: stdoutBytes.length,
  stderrKept: stderrBytes.length,
  stdoutTotal: rest.stdoutTotalBytes,
  stderrTotal: rest.stderrTotalBytes,
  stdoutTruncated: rest.stdoutTruncated,
  stderrTruncated: rest.stderrTruncated,
  stdoutSha256: sha256(stdoutBytes),
  textSha256: sha256(rest.stdout),
})

const scenarios = {
  flood: () =>
    withSandbox({}, async (sandbox) =>
      facts(
        await sandbox.commands.run(`head -c ${bytes} /dev/zero; head -c ${bytes} /dev/zero >&2; exit 7`, {
          timeoutMs: 300_000,
        }),
      ),
    ),
  file: () => withSandbox({ settings: roomy }, async (sandbox) => facts(await sandbox.commands.run(['cat', 'file']))),
  split: () =>
    withSandbox({}, async (sandbox) =>
      facts(await sandbox.commands.run('dd if=file bs=1 status=none | dd ibs=1 obs=1 status=none')),
    ),
  line: () =>
    withSandbox({ settings: roomy }, async (sandbox) =>
      facts(await sandbox.commands.run(`head -c ${bytes} /dev/zero | tr '\\0' x`)),
    ),
  complaint: () =>
    withSandbox({ settings: roomy }, async (sandbox) =>
      facts(await sandbox.commands.run(`head -c ${bytes} /dev/zero | tr '\\0' : >&2; echo ': Permission denied' >&2`)),
    ),
  slow: () =>
    withSandbox({}, async (sandbox) => {
      const hash = createHash('sha256')
      let seen = 0
      let pausedAt
      const progress = () => readFileSync(`${workspace}/progress`, 'utf8').split('\n').length - 1
      const onStdout = async (chunk) => {
        hash.update(chunk)
        seen += chunk.length
        if (pausedAt !== undefined) return sleep(1)
        let written = progress()
        // Until it stands still, and not only waits for its turn on a busy machine. One that nobody holds back comes to its end instead.
        for (let still = 0; still < 3;) {
          await sleep(1000)
          const now = progress()
          still = now === written ? still + 1 : 0
          written = now
        }
        await sleep(300)
        pausedAt = { written, later: progress() }
      }
      const block = `dd if=/dev/zero bs=64K count=1 status=none; echo x >> progress`
      const result = await sandbox.commands.run(`for i in $(seq ${bytes / 65536}); do ${block}; done`, { onStdout })
      return { ...facts(result), seen, seenSha256: hash.digest('hex'), pausedAt }
    }),
}

process.stdout.write(`${JSON.stringify(await scenarios[scenario]())}\n`)
