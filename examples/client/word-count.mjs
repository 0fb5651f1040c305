// Counts words in a sandbox that lives on a server. The same lines work with the library: import from 'glovebox' instead, and
// leave out url and token.
import { Sandbox, isGloveboxError } from 'glovebox/client'

const { GLOVEBOX_SERVER: url = 'http://127.0.0.1:4177', GLOVEBOX_TOKEN: token = '' } = process.env

const sandbox = await Sandbox.create({ url, token, policy: { timeoutMs: 10_000, memoryMb: 128 } })

// In TypeScript, or from Node 24 on: await using sandbox = …
try {
  await sandbox.files.write('text.txt', 'the cat and the hat\n')

  const result = await sandbox.commands.run(
    "tr ' ' '\\n' < text.txt | sort | uniq -c | sort -rn > count.txt && wc -l < count.txt",
    {
      onStdout: (chunk) => process.stdout.write(chunk),
    },
  )
  console.log(`exit code ${result.exitCode}`)
  console.log(await sandbox.files.read('count.txt', { startLine: 1, endLine: 1 }))

  try {
    await sandbox.files.read('/etc/shadow')
  } catch (error) {
    if (!isGloveboxError(error)) throw error
    console.log(error.code)
  }
} finally {
  await sandbox.kill()
}
