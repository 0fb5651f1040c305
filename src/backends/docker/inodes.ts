// Docker is told paths, and looks them up itself a moment later. Whoever can write to what leads to one could aim it elsewhere in
// that moment; so what a new container shows is compared with what was meant, before any command of the guest's is let in.
import type { GuestPath } from '../../contract/mount.ts'
import type { Cell } from './cell.ts'

/** SECURITY: test/attacks/docker: "a source that is aimed elsewhere while a container starts is not shown to the guest" */
export async function checkBounds(cell: Cell, inodes: ReadonlyMap<string, bigint>): Promise<void> {
  const paths = [...inodes.keys()]
  const seen = new Map<string, string>()
  // A name with a line break in it is asked for alone, where the whole answer can be compared.
  const odd = paths.filter((path) => path.includes('\n'))
  for (const line of (
    await list(
      cell,
      paths.filter((path) => !path.includes('\n')),
    )
  ).split('\n')) {
    const [, inode, path] = /^ *(\d+) (.*)$/.exec(line) ?? []
    if (inode !== undefined && path !== undefined) seen.set(path, inode)
  }
  for (const path of odd) {
    const said = await list(cell, [path])
    if (said.endsWith(` ${path}\n`)) seen.set(path, said.slice(0, -path.length - 2).trim())
  }
  const wrong = paths.filter((path) => seen.get(path) !== String(inodes.get(path)))
  if (wrong.length === 0) return
  cell.kill()
  await cell.gone
  throw new Error(`the container does not show at ${wrong.join(', ')} what was meant to be there`)
}

async function list(cell: Cell, paths: readonly string[]): Promise<string> {
  if (paths.length === 0) return ''
  const argv = ['ls', '-di', '--', ...paths] as [string, ...string[]]
  const child = cell.run({ argv, cwd: '/' as GuestPath, env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' }, stdin: 'none' })
  child.stderr.resume()
  const chunks: Buffer[] = []
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) chunks.push(chunk)
  await cell.isFit()
  return Buffer.concat(chunks).toString('utf8')
}
