// The audit log on a full disk, as a real filesystem in a throw-away mount namespace.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { hasTracer } from './killed-at-call.ts'

const built = (name: string): string => fileURLToPath(new URL(`../../dist/audit/${name}.js`, import.meta.url))

const script = `
  const { openAuditLog } = await import(process.argv[1])
  const { verifyAudit } = await import(process.argv[2])
  const { execFileSync } = await import('node:child_process')
  const { readFileSync, rmSync, writeFileSync } = await import('node:fs')
  const root = process.argv[3]
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=512k', 'tmpfs', root])
  const place = { directory: root + '/audit', keyDirectory: root + '/keys' }
  const audit = await openAuditLog(place)
  const entry = (subject) => ({ actor: 'test', action: 'thing.made', subject })
  const code = (work) => work.then(() => 'done', (error) => error.code)
  const size = () => readFileSync(root + '/audit/segment-000001.jsonl').length
  const intent = await audit.begin(entry('before'))
  try {
    for (let name = 0; ; name++) writeFileSync(root + '/fill' + name, Buffer.alloc(4096))
  } catch {}
  const answers = []
  // What is left of the last page may still take a few.
  let taken = 0
  while ((await code(audit.append(entry('small')))) === 'done') taken++
  const before = size()
  let effects = 0
  answers.push(await code(audit.append(entry('full'))))
  answers.push(await code(audit.perform(entry('full'), async () => effects++)))
  answers.push(effects)
  answers.push(size() === before)
  answers.push(verifyAudit(place.directory).findings.map(({ verdict }) => verdict).filter((one) => one !== 'unsigned-tail').join())
  answers.push(await code(intent.done({ note: 'x'.repeat(3000) })))
  answers.push(await code(audit.begin(entry('still full'))))
  const { openIntents } = verifyAudit(place.directory)
  answers.push(openIntents)
  for (let name = 0; name < 40; name++) rmSync(root + '/fill' + name)
  answers.push(await code(audit.append(entry('room again'))))
  answers.push(await code(audit.close()))
  answers.push(verifyAudit(place.directory).verdict)
  console.log(JSON.stringify({ taken, answers }))
`

describe.skipIf(process.platform !== 'linux')('an audit log on a full disk', () => {
  it('refuses what begins, leaves nothing half done, still takes what ends, and goes on when there is room', () => {
    const root = mkdtempSync(join(tmpdir(), 'glovebox-audit-full-'))
    try {
      const unshare = process.geteuid?.() === 0 ? ['-m'] : ['-Urm']
      const argv = [process.execPath, '--input-type=module', '-e', script, built('log'), built('verify'), root]
      const { answers } = JSON.parse(execFileSync('unshare', [...unshare, ...argv], { encoding: 'utf8' })) as {
        answers: unknown[]
      }
      expect(answers).toEqual([
        'AUDIT_UNAVAILABLE',
        'AUDIT_UNAVAILABLE',
        0,
        true,
        '',
        'done',
        'AUDIT_UNAVAILABLE',
        0,
        'done',
        'done',
        'ok',
      ])
    } finally {
      rmSync(root, { recursive: true, force: true })
    }
  })
})

const deleting = `
  const { openAuditLog } = await import(process.argv[1])
  const { verifyAudit } = await import(process.argv[2])
  const { execFileSync } = await import('node:child_process')
  const { closeSync, openSync, rmSync, statSync, writeSync } = await import('node:fs')
  const root = process.argv[3]
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', root])
  const place = { directory: root + '/audit', keyDirectory: root + '/keys' }
  const audit = await openAuditLog(place)
  const reserve = () => statSync(root + '/audit/reserve', { throwIfNoEntry: false })?.size ?? 0
  const answers = [reserve()]
  const entry = (actor) => ({ actor, action: 'thing.removed', subject: 'x' })
  const code = (work) => work.then(() => 'done', (error) => error.code)
  // Somebody else takes every page that comes free.
  const fill = () => {
    const descriptor = openSync(root + '/fill', 'a')
    try { for (;;) writeSync(descriptor, Buffer.alloc(4096)) } catch {}
    closeSync(descriptor)
  }
  const before = await audit.begin(entry('before'))
  let effects = 0
  const remove = (actor) => { fill(); return code(audit.perform(entry(actor), async () => effects++, { makesRoom: true })) }
  const untilRefused = async (work) => {
    for (let count = 0; ; count++) { const answer = await work(); if (answer !== 'done') return [count, answer] }
  }
  const [, ordinary] = await untilRefused(() => { fill(); return code(audit.append(entry('a'))) })
  answers.push(ordinary)
  const [first, refusal] = await untilRefused(() => remove('a'))
  answers.push(refusal, first > 16)
  answers.push(await code(audit.begin(entry('a'))))
  answers.push(await remove('b'), await remove('b'), await remove('c'))
  answers.push(await code(before.done()))
  answers.push(reserve() >= 64 * 1024, effects === first + 3)
  rmSync(root + '/fill')
  answers.push(await code(audit.append(entry('a'))), reserve())
  answers.push(await code(audit.close()), verifyAudit(place.directory).verdict, verifyAudit(place.directory).openIntents)
  console.log(JSON.stringify(answers))
`

// One thread for all file calls, since the tracer counts them by thread.
const failing = `
  const { openAuditLog } = await import(process.argv[1])
  const { verifyAudit } = await import(process.argv[2])
  const place = { directory: process.argv[3] + '/audit', keyDirectory: process.argv[3] + '/keys' }
  const entry = { actor: 'test', action: 'thing.made', subject: 'x' }
  const answer = (work) => work.then((record) => record?.seq ?? 'closed', (error) => error.code)
  const audit = await openAuditLog({ ...place, headEvery: { records: 1000, ms: 60_000 } })
  const answers = []
  for (let number = 0; number < 4; number++) answers.push(await answer(audit.append(entry)))
  answers.push(await answer(audit.close()))
  const again = await openAuditLog(place)
  answers.push(await answer(again.append(entry)), await answer(again.close()))
  console.log(JSON.stringify([...answers, verifyAudit(place.directory).verdict]))
`

describe.skipIf(process.platform !== 'linux')('an audit log on a full disk, of what makes room', () => {
  it('takes it out of a reserve, of which nobody has all, and renews that when there is room', () => {
    const root = mkdtempSync(join(tmpdir(), 'glovebox-audit-deleting-'))
    try {
      const unshare = process.geteuid?.() === 0 ? ['-m'] : ['-Urm']
      const argv = [process.execPath, '--input-type=module', '-e', deleting, built('log'), built('verify'), root]
      const answers = JSON.parse(execFileSync('unshare', [...unshare, ...argv], { encoding: 'utf8' })) as unknown[]
      const [whole, refused] = [320 * 1024, 'AUDIT_UNAVAILABLE']
      const others = ['done', 'done', 'done', 'done', true, true]
      expect(answers).toEqual([whole, refused, refused, true, refused, ...others, 'done', whole, 'done', 'ok', 0])
    } finally {
      rmSync(root, { recursive: true, force: true })
    }
  })
})

function answersWhen(inject: string): unknown {
  const root = mkdtempSync(join(tmpdir(), 'glovebox-audit-failing-'))
  try {
    const tracer = ['-f', '-qq', '-o', '/dev/null', '-e', `inject=${inject}`]
    const argv = [process.execPath, '--input-type=module', '-e', failing, built('log'), built('verify'), root]
    const env = { ...process.env, UV_THREADPOOL_SIZE: '1' }
    return JSON.parse(execFileSync('strace', [...tracer, ...argv], { encoding: 'utf8', env }))
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

const unless = hasTracer ? '' : ' (not run: strace is not installed)'

describe.skipIf(!hasTracer)(`an audit log on a disk that fails${unless}`, () => {
  it('refuses the record whose write failed, takes it back, and goes on with the next', () => {
    // The first write of a thread is the first head's.
    expect(answersWhen('pwrite64:error=EIO:when=3')).toEqual([
      2,
      'AUDIT_UNAVAILABLE',
      3,
      4,
      'closed',
      5,
      'closed',
      'ok',
    ])
  })

  it('refuses everything after a sync that failed, until it has been read again', () => {
    const refused = 'AUDIT_UNAVAILABLE'
    // The record behind the failed sync was never answered, but the disk has it, and so it is part of the chain.
    expect(answersWhen('fdatasync:error=EIO:when=3')).toEqual([
      2,
      refused,
      refused,
      refused,
      refused,
      4,
      'closed',
      'ok',
    ])
  })
})
