import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { groundForEach, guest, onLinux } from '../../test/fixtures/temporary-mounts.ts'
import { inside, openRoot } from './descriptor.ts'
import { nothingHeld } from './held.ts'
import { removeTree, removeTreeAtOnce } from './remove-tree.ts'
import { emptyDirectoryAtOnce } from './tree.ts'

const ground = groundForEach()

const modeOf = (path: string): number => statSync(path).mode & 0o777

function closedTree(): string {
  const tree = ground().host('tree')
  ground().put('tree/a/b/file')
  mkdirSync(join(tree, 'c', 'd'), { recursive: true })
  chmodSync(join(tree, 'a', 'b'), 0o500)
  for (const closed of ['c/d', 'c', 'a']) chmodSync(join(tree, closed), 0o000)
  chmodSync(tree, 0o300)
  return tree
}

/** Its whole path is longer than any that the kernel takes. */
function deepTree(): string {
  const tree = ground().host('deep')
  mkdirSync(tree)
  const name = 'd'.repeat(200)
  let at = openSync(tree, constants.O_DIRECTORY)
  for (let depth = 0; depth < 40; depth++) {
    mkdirSync(inside(at, name))
    const next = openSync(inside(at, name), constants.O_DIRECTORY)
    closeSync(at)
    at = next
  }
  closeSync(at)
  return tree
}

describe.skipIf(!onLinux)('removing what a guest left', () => {
  it.each([
    ['at once', removeTreeAtOnce],
    ['in turns', removeTree],
  ] as const)('removes directories that are closed, and paths that are too long, %s', async (_, remove) => {
    for (const tree of [closedTree(), deepTree()]) {
      await remove(tree)
      expect(existsSync(tree)).toBe(false)
    }
    await remove(ground().host('nothing'))
  })

  it('a link in its place is removed and not followed', async () => {
    const link = ground().host('link')
    symlinkSync(ground().outside, link)
    await removeTree(link)
    expect(existsSync(link)).toBe(false)
    expect(readdirSync(ground().outside)).toEqual(['secret.txt'])
  })

  it('what is opened to be removed is no file and nothing behind a link', () => {
    const tree = closedTree()
    chmodSync(tree, 0o700)
    const secret = join(ground().outside, 'secret.txt')
    writeFileSync(secret, '', { mode: 0o600 })
    linkSync(secret, join(tree, 'another name'))
    symlinkSync(ground().outside, join(tree, 'link'))
    chmodSync(secret, 0o000)
    chmodSync(ground().outside, 0o000)
    const top = openRoot(tree)
    try {
      emptyDirectoryAtOnce(top, {
        held: nothingHeld,
        asked: { verb: 'remove', path: guest('/tree') },
        opensUp: true,
      })
    } finally {
      closeSync(top.fd)
    }
    expect(readdirSync(tree)).toEqual([])
    expect(modeOf(ground().outside)).toBe(0o000)
    chmodSync(ground().outside, 0o700)
    expect(readdirSync(ground().outside)).toEqual(['secret.txt'])
    expect(modeOf(secret)).toBe(0o000)
  })
})
