import { rmSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeGround, type Ground } from './ground.test-support.ts'
import { openInputQuota, type InputQuota } from './input-quota.ts'
import { checkInputs, writeInputs } from './inputs.ts'
import { inputsPlace } from './layout.ts'

let ground: Ground
beforeEach(() => {
  ground = makeGround()
  ground.exec()
})
afterEach(() => ground.remove())

const inputs = (...sizes: readonly number[]) =>
  checkInputs(sizes.map((size, index) => ({ path: `${index}/file`, content: 'x'.repeat(size) })))
const open = (): InputQuota => openInputQuota(ground.root, { maxInputBytes: 100, maxInputFiles: 10 })
const admit = (quota: InputQuota, ...sizes: readonly number[]): Promise<void> =>
  quota.admit('project', inputs(...sizes))
const refused = { code: 'QUOTA_EXCEEDED', facts: { fields: ['inputs'] } }

describe('the quota of inputs', () => {
  it('counts what was admitted before, also while it is nowhere yet', async () => {
    const quota = open()
    await admit(quota, 60)
    await expect(admit(quota, 101)).rejects.toMatchObject(refused)
    const other = open()
    await writeInputs(inputsPlace(ground.root, 'project'), inputs(60))
    await expect(admit(other, 41)).rejects.toMatchObject(refused)
    await admit(other, 39)
  })

  it('counts files as well as bytes, and directories as files', async () => {
    await writeInputs(inputsPlace(ground.root, 'project'), inputs(1, 1, 1))
    const quota = open()
    await admit(quota, 0, 0, 0, 0)
    await expect(
      openInputQuota(ground.root, { maxInputBytes: 100, maxInputFiles: 6 }).admit('project', inputs(0)),
    ).rejects.toMatchObject(refused)
  })

  it('looks again before it refuses: somebody may have made room', async () => {
    await writeInputs(inputsPlace(ground.root, 'project'), inputs(90))
    const quota = open()
    await admit(quota, 1)
    await expect(admit(quota, 20)).rejects.toMatchObject(refused)
    rmSync(inputsPlace(ground.root, 'project'), { recursive: true })
    ground.exec()
    await admit(quota, 20)
  })

  it('is of each project for itself, and asks nothing of a request without inputs', async () => {
    await writeInputs(inputsPlace(ground.root, 'project'), inputs(100))
    const quota = open()
    await expect(admit(quota, 1)).rejects.toMatchObject(refused)
    await quota.admit('project', [])
    ground.exec({ project_id: 'other' })
    await quota.admit('other', inputs(100))
  })
})
