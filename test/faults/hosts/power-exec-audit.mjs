// What must be true of execs after a power cut, given what had been answered before it: the next server is started on what is there, and asked
// the same again.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { bodyOf, callerOf, serve } from './power-served.mjs'

const ofKind = (answers, kind) => answers.filter(({ what }) => what === kind)

export async function auditMounted({ dist, directory, answers, boot }) {
  const faults = []
  const [{ token }] = ofKind(answers, 'token')
  let server
  try {
    server = await serve({ dist, directory, token, boot })
  } catch (error) {
    return { faults: [`no server can be started: ${error.message}`] }
  }
  const call = callerOf(server.url, token)
  const figures = { runs: 0, repaired: 0 }
  try {
    for (const each of ofKind(answers, 'exec')) await auditExec(each)
    await auditList()
  } finally {
    server.child.kill('SIGTERM')
    await server.closed
  }
  const { verifyAudit } = await import(join(dist, 'audit/verify.js'))
  const { verdict, openIntents } = verifyAudit(join(directory, 'state/audit'))
  if (verdict !== 'ok' || openIntents !== 0) faults.push(`the audit log is ${verdict}, with ${openIntents} open`)
  return { faults, ...figures }

  async function untilEnded(execId) {
    for (const until = performance.now() + 60_000; ;) {
      const { status, json } = await call('GET', `/sandbox/execs/${execId}`)
      if (status !== 200 || json.ended_at !== null || performance.now() > until) return { status, json }
      await delay(20)
    }
  }

  async function auditExec({ mark, key, exec_id }) {
    const { status, json: exec } = await untilEnded(exec_id)
    if (status !== 200) return void faults.push(`${mark}: its exec was answered and is gone`)
    figures.runs += 1
    const end = `${exec.status} ${exec.exit_code}`
    if (!['FAILED 7', 'CANCELLED null', 'LOST null'].includes(end))
      faults.push(`${mark}: it is ${end}, ${exec.error_reason}`)
    for (const told of ofKind(answers, 'ended').filter((each) => each.mark === mark))
      if (end !== `${told.status} ${told.exit_code}`) faults.push(`${mark}: told as ${told.status}, it is ${end}`)
    auditRuns(mark)
    if (key === undefined) return
    const again = await call('POST', '/sandbox/execs', { body: bodyOf(mark), key })
    if (again.json.exec_id !== exec_id) faults.push(`${mark}: its key was answered and stands for another exec`)
  }

  /** Whatever was seen of it before, and whatever is there now. */
  function auditRuns(mark) {
    const file = join(directory, 'data/workspace/projects/demo/work', `ran-${mark}`)
    const seen = ofKind(answers, 'ran').flatMap((each) => (each.mark === mark ? [each.line] : []))
    const found = existsSync(file) ? [readFileSync(file, 'utf8')] : []
    const runs = [...seen, ...found].flatMap((text) => text.split('\n').filter((line) => /^\d+$/.test(line)))
    if (new Set(runs).size > 1 || found.some((text) => text.split('\n').length > 2))
      faults.push(`${mark}: it ran twice`)
  }

  async function auditList() {
    const tasks = new Set()
    for (let cursor = ''; cursor !== null;) {
      const { json } = await call('GET', `/sandbox/execs?limit=100${cursor === '' ? '' : `&cursor=${cursor}`}`)
      for (const { task_id, exec_id } of json.items) {
        await untilEnded(exec_id)
        if (tasks.has(task_id)) faults.push(`${task_id}: one request made two execs`)
        tasks.add(task_id)
        auditRuns(task_id.slice('task-'.length))
      }
      cursor = json.next_cursor
    }
  }
}
