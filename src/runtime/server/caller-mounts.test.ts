import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { requireAllowed } from './caller-mounts.ts'

let place: string
let roots: readonly string[]

beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), 'glovebox-roots-'))
  for (const name of ['root/inside', 'root-beside', 'elsewhere']) mkdirSync(join(place, name), { recursive: true })
  symlinkSync(join(place, 'elsewhere'), join(place, 'root', 'link'))
  symlinkSync(join(place, 'root'), join(place, 'alias'))
  roots = [join(place, 'root')]
})
afterAll(() => rmSync(place, { recursive: true, force: true }))

const ask = (hostPath: string): void => requireAllowed([{ guestPath: '/data', hostPath }], roots)

describe('mounts that a caller asks for', () => {
  it('are given below the roots of the operator, whatever leads there', () => {
    for (const path of ['root', 'root/inside', 'alias/inside', 'elsewhere/../root'])
      expect(() => ask(join(place, path))).not.toThrow()
  })

  it("a directory outside the operator's roots is refused, also behind a link", () => {
    for (const path of ['elsewhere', 'root-beside', 'root/link', 'root/missing', 'root/..'])
      expect(() => ask(`${place}/${path}`), path).toThrow(/does not allow/)
    for (const path of ['/', '/etc', 'relative', '']) expect(() => ask(path), path).toThrow(/does not allow/)
  })

  it('are refused one and all where the operator named no root', () => {
    expect(() => requireAllowed([{ guestPath: '/data', hostPath: join(place, 'root') }], [])).toThrow(/does not allow/)
    expect(() => requireAllowed([], [])).not.toThrow()
  })

  it('layers are never a caller’s to ask for', () => {
    const over = { lower: ['/etc'], work: '/tmp' }
    expect(() => requireAllowed([{ guestPath: '/data', hostPath: join(place, 'root'), over }], roots)).toThrow()
  })
})
