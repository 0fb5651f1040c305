import assert from 'node:assert/strict'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConformanceCase, Subject } from '../case.ts'
import { hidesTheHost, refused } from '../expect.ts'

async function library(subject: Subject) {
  const plain = await subject.scene('plain')
  const { guest, host } = await subject.room(plain)
  for (const name of ['src/deep', 'docs', 'node_modules/pack', '.git-like'])
    await mkdir(join(host, name), { recursive: true })
  await writeFile(join(host, 'src/one.ts'), 'const needle = 1\nconst other = 2\n')
  await writeFile(join(host, 'src/deep/two.ts'), 'a Needle in a.b\nneedle needle\n')
  await writeFile(join(host, 'docs/read.md'), 'no match here\n$needle (x)\n')
  await writeFile(join(host, 'node_modules/pack/index.ts'), 'needle\n')
  return { files: plain.sandbox.files, guest, host }
}

export const searchCases: readonly ConformanceCase[] = [
  {
    title: 'grep finds lines with their path and number, in the words of the guest',
    async run(subject) {
      const { files, guest } = await library(subject)
      const { matches } = await files.grep('const needle', { path: guest })
      assert.deepEqual(matches, [{ path: `${guest}/src/one.ts`, line: 1, text: 'const needle = 1' }])
      hidesTheHost(matches)
    },
  },
  {
    title: 'grep takes a pattern as plain text when it is told to',
    async run(subject) {
      const { files, guest } = await library(subject)
      const literal = await files.grep('$needle (x)', { path: guest, literal: true })
      assert.deepEqual(
        literal.matches.map(({ line }) => line),
        [2],
      )
    },
  },
  {
    title: 'grep tells upper and lower case apart unless it is told not to',
    async run(subject) {
      const { files, guest } = await library(subject)
      assert.equal((await files.grep('Needle', { path: guest })).matches.length, 1)
      const folded = await files.grep('Needle', { path: guest, caseSensitive: false })
      assert.ok(folded.matches.length >= 3, `${folded.matches.length}`)
    },
  },
  {
    title: 'grep can be narrowed by a glob and to a single file',
    async run(subject) {
      const { files, guest } = await library(subject)
      const markdown = await files.grep('needle', { path: guest, glob: '*.md' })
      assert.deepEqual(
        markdown.matches.map(({ path }) => path),
        [`${guest}/docs/read.md`],
      )
      const single = await files.grep('needle', { path: `${guest}/src/one.ts` })
      assert.deepEqual(
        single.matches.map(({ line }) => line),
        [1],
      )
    },
  },
  {
    title: 'grep skips what is ignored by default, and looks there when told to',
    async run(subject) {
      const { files, guest } = await library(subject)
      const inPack = (paths: readonly { path: string }[]) => paths.some(({ path }) => path.includes('node_modules'))
      assert.equal(inPack((await files.grep('needle', { path: guest })).matches), false)
      assert.equal(inPack((await files.grep('needle', { path: guest, includeIgnored: true })).matches), true)
    },
  },
  {
    title: 'grep stops at its limit and says that it is truncated',
    async run(subject) {
      const { files, guest } = await library(subject)
      const { matches, truncated } = await files.grep('needle', { path: guest, maxResults: 2 })
      assert.deepEqual([matches.length, truncated], [2, true])
    },
  },
  {
    title: 'grep skips binary files and files over one mebibyte, and counts them',
    async run(subject) {
      const { files, guest, host } = await library(subject)
      await writeFile(join(host, 'src/binary'), Buffer.from('\0\0needle\0'))
      await writeFile(join(host, 'src/large.txt'), 'needle\n'.repeat(200_000))
      const found = await files.grep('needle', { path: `${guest}/src` })
      assert.deepEqual([found.skippedBinaryFiles, found.skippedLargeFiles], [1, 1])
      assert.ok(found.matches.every(({ path }) => path.endsWith('.ts')))
    },
  },
  {
    title: 'grep without a match is an empty result; with a broken pattern it is refused',
    async run(subject) {
      const { files, guest } = await library(subject)
      const none = await files.grep('not to be found', { path: guest })
      assert.deepEqual([none.matches, none.truncated], [[], false])
      await refused('INVALID_INPUT', files.grep('(unclosed', { path: guest }))
    },
  },
  {
    title: 'a pattern that begins with a dash is a pattern',
    async run(subject) {
      const { files, guest, host } = await library(subject)
      await writeFile(join(host, 'docs/dash.txt'), 'see --files here\n')
      assert.equal((await files.grep('--files', { path: guest })).matches.length, 1)
    },
  },
  {
    title: 'grep and glob outside the mounts, or where nothing is, are refused',
    async run(subject) {
      const { files, guest } = await library(subject)
      await refused('OUTSIDE_MOUNTS', files.grep('root', { path: '/etc' }))
      await refused('OUTSIDE_MOUNTS', files.glob('*', { path: '/etc' }))
      await refused('NOT_FOUND', files.grep('x', { path: `${guest}/missing` }))
      await refused('NOT_FOUND', files.glob('*', { path: `${guest}/missing` }))
    },
  },
  {
    title: 'glob finds files by pattern, sorted, in the words of the guest',
    async run(subject) {
      const { files, guest } = await library(subject)
      const { paths, truncated } = await files.glob('**/*.ts', { path: guest })
      assert.deepEqual([paths, truncated], [[`${guest}/src/deep/two.ts`, `${guest}/src/one.ts`], false])
    },
  },
  {
    title: 'glob shows directories when it is told to, and stops at its limit',
    async run(subject) {
      const { files, guest } = await library(subject)
      assert.ok((await files.glob('**', { path: guest, includeDirs: true })).paths.includes(`${guest}/src/deep`))
      const cut = await files.glob('**/*', { path: guest, maxResults: 1 })
      assert.deepEqual([cut.paths.length, cut.truncated], [1, true])
    },
  },
  {
    title: 'a search does not follow a link out of the mounts',
    async run(subject) {
      const { files, guest, host } = await library(subject)
      const outside = await subject.directory()
      await writeFile(join(outside, 'far.ts'), 'needle outside\n')
      await symlink(outside, join(host, 'src/door'))
      const { matches } = await files.grep('needle outside', { path: guest })
      assert.deepEqual(matches, [])
      assert.ok(!(await files.glob('**/*.ts', { path: guest })).paths.some((path) => path.includes('far')))
    },
  },
]
