import { cpSync, mkdtempSync, realpathSync, rmSync, writeFileSync, mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { keepInstallation, nameOfDirectory, readInstallation } from './installation.ts'

describe('the name of an installation', () => {
  let root: string
  beforeEach(() => (root = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-installation-')))))
  afterEach(() => rmSync(root, { recursive: true, force: true }))
  const place = (name: string): string => {
    mkdirSync(join(root, name), { recursive: true })
    return join(root, name)
  }

  it('is made once, and is another one elsewhere', () => {
    const name = readInstallation(place('state'))
    expect(readInstallation(place('state'))).toBe(name)
    expect(readInstallation(place('other'))).not.toBe(name)
  })

  it('is found again with the data when the state is lost', () => {
    keepInstallation(place('state'), place('data'))
    const name = readInstallation(place('state'))
    rmSync(join(root, 'state'), { recursive: true })
    keepInstallation(place('state'), place('data'))
    expect(readInstallation(place('state'))).toBe(name)
  })

  it('is kept with the data by whoever had it before', () => {
    const name = readInstallation(place('state'))
    keepInstallation(place('state'), place('data'))
    keepInstallation(place('new state'), place('data'))
    expect(readInstallation(place('new state'))).toBe(name)
  })

  it('does not go with a copy of the data, which then has its own', () => {
    keepInstallation(place('state'), place('data'))
    cpSync(join(root, 'data'), join(root, 'copy'), { recursive: true })
    keepInstallation(place('second state'), place('copy'))
    const second = readInstallation(place('second state'))
    expect(second).not.toBe(readInstallation(place('state')))
    keepInstallation(place('third state'), place('copy'))
    expect(readInstallation(place('third state'))).toBe(second)
  })

  it('of a directory is the same for all who ask, and another one for a copy', () => {
    const name = nameOfDirectory(place('shared'))
    expect(nameOfDirectory(place('shared'))).toBe(name)
    cpSync(join(root, 'shared'), join(root, 'copy'), { recursive: true })
    const copy = nameOfDirectory(place('copy'))
    expect(copy).not.toBe(name)
    expect(nameOfDirectory(place('copy'))).toBe(copy)
  })

  it('that cannot be read is nobody else’s to guess', () => {
    mkdirSync(join(place('state'), 'docker'))
    writeFileSync(join(root, 'state', 'docker', 'installation'), 'half a na')
    const unreadable = expect.objectContaining({ code: 'BACKEND_UNAVAILABLE' })
    expect(() => readInstallation(place('state'))).toThrow(unreadable)
    expect(() => keepInstallation(place('state'), place('data'))).toThrow(unreadable)
  })
})
