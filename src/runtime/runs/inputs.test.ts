import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { surveyInputs } from './inputs.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'glovebox-inputs-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const put = (name: string, text = ''): string => {
  const path = join(directory, name)
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, text)
  return path
}

describe('inputs of a run', () => {
  it('are the files named, and everything below the directories named', () => {
    const job = put('job.py', 'print()')
    chmodSync(put('kit/b/run.sh'), 0o755)
    put('kit/a.txt')
    expect(surveyInputs([job, join(directory, 'kit')]).map(({ name, isExecutable }) => [name, isExecutable])).toEqual([
      ['job.py', false],
      ['kit/a.txt', false],
      ['kit/b/run.sh', true],
    ])
  })

  it.each([
    ['what does not exist', () => [join(directory, 'gone')], 'does not exist'],
    ['what would lie below a file', () => [join(put('file'), 'x')], 'does not exist'],
    [
      'what its way does not lead to',
      () => [(symlinkSync('loop', join(directory, 'loop')), join(directory, 'loop/x'))],
      'cannot be read',
    ],
    ['two of one name', () => [put('a/x'), put('b/x')], 'the same name'],
    ['a link', () => [(symlinkSync('/etc/passwd', join(directory, 'link')), join(directory, 'link'))], 'neither'],
  ])('refuse %s', (_, paths, told) => {
    expect(() => surveyInputs(paths())).toThrow(told)
  })

  it('refuse more than a run should copy, and name the mount that serves better', () => {
    const large = put('large')
    truncateSync(large, 65 * 1024 * 1024)
    expect(() => surveyInputs([large])).toThrow(
      expect.objectContaining({ code: 'TOO_LARGE', hint: expect.stringContaining(':ro') }),
    )
  })
})
