import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { entry, linesIn, temporaryLog, type TemporaryLog } from './temporary-log.test-support.ts'
import { verifyAudit } from './verify.ts'

let log: TemporaryLog
beforeEach(async () => {
  log = temporaryLog()
  const audit = await log.open()
  await audit.append(entry(1))
  await audit.close()
})
afterEach(() => log.remove())

const refused = { code: 'AUDIT_UNAVAILABLE' }
const heads = (): string => join(log.directory, 'heads.jsonl')
const privateKey = (): string => join(log.keyDirectory, 'audit.pem')

describe('signed heads', () => {
  it('a private key that others can read is refused', async () => {
    expect(statSync(privateKey()).mode & 0o777).toBe(0o600)
    chmodSync(privateKey(), 0o640)
    await expect(log.open()).rejects.toMatchObject(refused)
    chmodSync(privateKey(), 0o600)
    await (await log.open()).close()
  })

  it('a head that the key did not sign is refused', async () => {
    const text = readFileSync(heads(), 'utf8')
    writeFileSync(
      heads(),
      text.replace(/"bytes":(\d)(\d*),"open":\[\],"time":"[^"]*",[^\n]*\n$/, (line) =>
        line.replace('"time":"20', '"time":"21'),
      ),
    )
    expect(readFileSync(heads(), 'utf8')).not.toBe(text)
    await expect(log.open()).rejects.toMatchObject(refused)
  })

  it('a key of another pair is refused', async () => {
    const other = temporaryLog()
    await (await other.open()).close()
    writeFileSync(privateKey(), readFileSync(join(other.keyDirectory, 'audit.pem')))
    other.remove()
    await expect(log.open()).rejects.toMatchObject(refused)
  })

  it('a head that was cut short is kept aside and the next one follows the last whole one', async () => {
    const audit = await log.open({ headEvery: { records: 1000, ms: 60_000 } })
    await audit.append(entry(2))
    writeFileSync(heads(), '{"seq":3,"ha', { flag: 'a' })
    const again = await log.open()
    await again.close()
    expect(verifyAudit(log.directory)).toMatchObject({ verdict: 'ok', checked: { heads: 3 } })
    expect(linesIn(readFileSync(heads())).length).toBe(3)
  })
})
