// node store-writer.mjs <open.js> <file> <in flight> [<most>]: tells each exec once it is answered for, until it is killed. With a number it
// writes no more than so many, and waits for that.
import { writeSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const [, , open, file, inFlight, most = 'Infinity'] = process.argv
const { openStore } = await import(pathToFileURL(open).href)
const store = await openStore({ url: file })

const row = (exec_id) => ({
  exec_id,
  project_id: 'p',
  task_id: null,
  conversation_id: null,
  skill_id: null,
  image: null,
  image_id: null,
  image_asked: null,
  cmd: 'bash',
  args: ['x'.repeat(2000)],
  cwd: null,
  env_keys: [],
  policy_snapshot: {},
  status: 'QUEUED',
  exit_code: null,
  error_reason: null,
  started_at: null,
  ended_at: null,
  duration_ms: null,
  artifacts_path: 'a',
  stdout_truncated: false,
  stderr_truncated: false,
  created_at: new Date().toISOString(),
  owner: null,
  fence: 0,
  backend: null,
  boundary_id: null,
  cancel_requested_at: null,
})

let count = 0
async function write() {
  while (count < Number(most)) {
    const id = `exec_${process.pid}_${String(count++).padStart(8, '0')}`
    await store.execs.insert(row(id))
    // At once and not through a buffer of ours: a kill must not swallow what was answered.
    writeSync(1, `${id}\n`)
  }
}
await Promise.all(Array.from({ length: Number(inFlight) }, write))
setInterval(() => {}, 1000)
