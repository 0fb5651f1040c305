import { describe, expect, it } from 'vitest'
import { askWslpath } from './wslpath.ts'

describe('askWslpath', () => {
  const node = (script: string) => ({ platform: 'linux', command: [process.execPath, '-e', script, '--'] as const })
  const echo = node('process.stdout.write(process.argv.slice(1).join("|") + "\\n")')

  it('asks for the absolute name, with the path as one word', () => {
    expect(askWslpath('-u', String.raw`D:\a b`, echo)).toBe('-a|-u|D:\\a b\n')
    expect(askWslpath('-w', '/mnt/d/$(x) ;y', echo)).toBe('-a|-w|/mnt/d/$(x) ;y\n')
  })

  it('has no answer where the program is missing, refuses, or says nothing', () => {
    expect(askWslpath('-u', 'D:\\', { platform: 'linux', command: ['/nowhere/wslpath'] })).toBeUndefined()
    expect(askWslpath('-u', 'D:\\', node('console.log("half"); process.exit(1)'))).toBeUndefined()
    expect(askWslpath('-u', 'D:\\', node(''))).toBeUndefined()
    expect(askWslpath('-u', 'D:\\', { platform: 'darwin' })).toBeUndefined()
  })
})
