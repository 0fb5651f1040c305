import { mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cases } from '../../test/fixtures/cases.ts'
import type { GuestPath, HostPath } from '../contract/mount.ts'
import { isGloveboxError } from '../errors/error.ts'
import { bytes, groundForEach, guest, onLinux, openDescriptors, secret } from '../../test/fixtures/temporary-mounts.ts'
import { openHostFiles, type HostFiles } from './host-files.ts'

const ground = groundForEach()
const names = [
  'a',
  'b',
  'l',
  'm',
  '..',
  '.',
  '',
  'secret.txt',
  'outside',
  'inside',
  'proc',
  'self',
  'root',
  'workspace',
  'x\ty',
]
const anyPath = fc.array(fc.constantFrom(...names), { maxLength: 8 })
const anyTarget = fc.oneof(
  anyPath.map((parts) => parts.join('/')),
  anyPath.map((parts) => `/${parts.join('/')}`),
  anyPath.map((parts) => `/workspace/${parts.join('/')}`),
  fc.constant('OUTSIDE'),
  fc.constant('OUTSIDE/secret.txt'),
)

const tryAll = async (files: HostFiles, path: GuestPath): Promise<string[]> => {
  const seen: string[] = []
  const attempts: (() => Promise<unknown>)[] = [
    async () => void seen.push(Buffer.from((await files.read(path, { maxBytes: 100 })).bytes).toString()),
    async () => void seen.push(...(await files.list(path, { limit: 100 })).entries.map(({ name }) => name)),
    () => files.stat(path),
    () => files.write(path, bytes('overwritten')),
    () => files.append(path, bytes('appended')),
    () => files.mkdir(path),
    () => files.rename(path, guest('/workspace/moved')),
    () => files.rename(guest('/workspace/moved'), path),
    () => files.remove(path, { recursive: true }),
  ]
  for (const attempt of attempts) {
    await attempt().catch((error: unknown) => expect(isGloveboxError(error), String(error)).toBe(true))
  }
  return seen
}

describe.skipIf(!onLinux)('the walk', () => {
  it('lets no path, through any links, reach anything outside', async () => {
    let round = 0
    const links = fc.array(anyTarget, { minLength: 2, maxLength: 2 })
    await fc.assert(
      fc.asyncProperty(links, fc.array(anyPath, { minLength: 1, maxLength: 3 }), async (targets, paths) => {
        const root = ground().host(`r${round++}`)
        mkdirSync(join(root, 'a'), { recursive: true })
        writeFileSync(join(root, 'a', 'b'), 'inside')
        for (const [index, target] of targets.entries()) {
          const written = target.replace('OUTSIDE', ground().outside) || '.'
          symlinkSync(written, join(root, index === 0 ? 'l' : 'a/m'))
        }
        const mounts = [{ guestPath: guest('/workspace'), hostPath: root as HostPath, mode: 'rw' as const }]
        const narrow = openHostFiles({ mounts, protect: [], denyRead: [], lockDir: ground().lockDir })
        try {
          for (const parts of paths) {
            for (const text of [`/workspace/${parts.join('/')}`, `/${parts.join('/')}`]) {
              expect(await tryAll(narrow, guest(text))).not.toContain(secret)
            }
          }
        } finally {
          narrow.close()
        }
        expect(readdirSync(ground().outside)).toEqual(['secret.txt'])
        expect(readFileSync(join(ground().outside, 'secret.txt'), 'utf8')).toBe(secret)
      }),
      cases(40),
    )
  })

  it('leaves no descriptor open after thousands of operations, refused or not', async () => {
    ground().put('d/file')
    symlinkSync(ground().outside, ground().host('out'))
    symlinkSync('loop', ground().host('loop'))
    symlinkSync('d', ground().host('in'))
    const files = ground().open({ denyRead: ['/workspace/hidden'], protect: ['.git/hooks'] })
    await files.read(guest('/workspace/d/file'), { maxBytes: 9 })
    const before = openDescriptors(ground().directory)
    expect(before).toBeGreaterThan(0)
    const paths = [
      'd/file',
      'd',
      'none/none',
      'out/secret.txt',
      'loop/x',
      'in/file',
      'hidden/x',
      'd/file/x',
      '../etc',
      '',
    ]
    for (let round = 0; round < 60; round++) {
      for (const name of paths) {
        const path = guest(`/workspace/${name}`)
        await files.read(path, { maxBytes: round % 2 }).catch(isGloveboxError)
        await files.list(path, { limit: 1 }).catch(isGloveboxError)
        await files.stat(path).catch(isGloveboxError)
        await files.update(path, { maxBytes: 0 }, (old) => old).catch(isGloveboxError)
        await files.rename(path, guest('/workspace/none/x')).catch(isGloveboxError)
      }
    }
    expect(openDescriptors(ground().directory)).toBe(before)
  })
})
