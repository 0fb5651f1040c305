// What is written, what is on disk, and who waits for which. The disk is a real one; its fdatasync goes through our hands, in a
// process of its own, so that it can be held and counted.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const built = (name: string): string => fileURLToPath(new URL(`../../dist/audit/${name}.js`, import.meta.url))

const preamble = `
  const { default: fs } = await import('node:fs')
  const { syncBuiltinESMExports } = await import('node:module')
  const real = fs.fdatasync
  let syncs = 0
  let held
  let atOnce = false
  fs.fdatasync = (descriptor, done) => {
    syncs++
    if (atOnce) process.nextTick(done, null)
    else if (held === undefined) real(descriptor, done)
    else held.push((error) => (error === undefined ? real(descriptor, done) : done(error)))
  }
  syncBuiltinESMExports()
  const hold = () => (held = [])
  const letGo = (error) => { const all = held; held = undefined; for (const each of all) each(error) }
  const { openAuditLog } = await import(process.argv[1])
  const { verifyAudit } = await import(process.argv[2])
  const place = { directory: process.argv[3] + '/audit', keyDirectory: process.argv[3] + '/keys' }
  const entry = (subject) => ({ actor: 'test', action: 'thing.made', subject })
  const inLog = (subject) => fs.readFileSync(place.directory + '/segment-000001.jsonl', 'utf8').includes('"' + subject + '"')
  const aWhile = () => new Promise((resolve) => setTimeout(resolve, 100))
  const settled = (promise) => Promise.race([promise.then(() => true, () => true), aWhile().then(() => false)])
  const code = (work) => work.then(() => 'done', (error) => error.code)
  const tell = (value) => console.log(JSON.stringify(value))
  const open = (more) => openAuditLog({ ...place, headEvery: { records: 1000, ms: 60_000 }, ...more })
`

function told(script: string): unknown {
  const root = mkdtempSync(join(tmpdir(), 'glovebox-audit-sync-'))
  try {
    const argv = ['--input-type=module', '-e', preamble + script, built('log'), built('verify'), root]
    return JSON.parse(execFileSync(process.execPath, argv, { encoding: 'utf8' }))
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

describe('an intent that is written', () => {
  it('stands in the log before its effect, and is waited for before its answer', () => {
    expect(
      told(`
        const audit = await open()
        hold()
        const slow = audit.begin(entry('slow'))
        const intent = await audit.beginWritten(entry('quick'))
        const during = { inLog: inLog('quick'), onDisk: await settled(intent.onDisk()), begun: await settled(slow) }
        letGo()
        await intent.onDisk()
        await (await slow).done()
        await intent.done()
        await audit.close()
        tell({ during, verdict: verifyAudit(place.directory).verdict })
      `),
    ).toEqual({ during: { inLog: true, onDisk: false, begun: false }, verdict: 'ok' })
  })

  it('and whose sync fails is told to whoever waits, with all that was written meanwhile, and refuses what comes', () => {
    const refused = 'AUDIT_UNAVAILABLE'
    expect(
      told(`
        const audit = await open({ lingerMs: 5 })
        hold()
        const first = await audit.beginWritten(entry('first'))
        const meanwhile = await audit.beginWritten(entry('meanwhile'))
        const answers = [first, meanwhile].map((intent) => code(intent.onDisk()))
        letGo(Object.assign(new Error('EIO'), { code: 'EIO', errno: -5, syscall: 'fdatasync' }))
        answers.push(code(first.done()), code(audit.beginWritten(entry('after'))), code(audit.append(entry('after'))))
        const all = [...(await Promise.all(answers)), await code(audit.close())]
        const again = await open()
        await again.close()
        tell({ all, hasAfter: inLog('after'), verdict: verifyAudit(place.directory).verdict })
      `),
    ).toEqual({ all: Array.from({ length: 6 }, () => refused), hasAfter: false, verdict: 'ok' })
  })
})

describe('a patient end', () => {
  it('shares the sync of the next intent, and one that nothing follows is on disk soon', () => {
    const syncsOf = (how: string): unknown =>
      told(`
        atOnce = true
        // A turn ends by the clock as well, and how many there are would be the machine's word.
        performance.now = () => 0
        const audit = await open({ lingerMs: 20 })
        const before = syncs
        for (let number = 0; number < 20; number++) {
          const intent = await audit.beginWritten(entry('n' + number))
          await intent.onDisk()
          void intent.done({}, ${how})
          await new Promise((resolve) => setImmediate(resolve))
        }
        tell(syncs - before)
        process.exit()
      `)
    // A disk that answers at once, so that nothing but what is asked for is counted. What takes longer than a linger adds one.
    expect(syncsOf('{ isPatient: true }')).toBeLessThan(30)
    expect(syncsOf('{}')).toBeGreaterThanOrEqual(39)
    expect(
      told(`
        const audit = await open({ lingerMs: 5 })
        const intent = await audit.beginWritten(entry('alone'))
        await intent.onDisk()
        const { outcome } = await intent.done({}, { isPatient: true })
        await audit.close()
        tell({ outcome, verdict: verifyAudit(place.directory).verdict })
      `),
    ).toEqual({ outcome: 'done', verdict: 'ok' })
  })
})
