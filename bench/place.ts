// A directory for one run, which every id may traverse: when root runs the bench, bwrap itself runs as another id.
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Place extends Disposable {
  readonly path: string
  directory(name: string): string
  /** A tree of small text files, a hundred in each directory. */
  tree(name: string, files: number): string
}

export function openPlace(): Place {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-bench-')))
  chmodSync(path, 0o755)
  const directory = (name: string): string => {
    mkdirSync(join(path, name), { recursive: true })
    return join(path, name)
  }
  return {
    path,
    directory,
    tree(name, files) {
      const root = directory(name)
      for (let index = 0; index < files; index += 1) {
        const parent = join(root, `d${Math.floor(index / 100)}`)
        if (index % 100 === 0) mkdirSync(parent, { recursive: true })
        const needle = index % 5000 === 0 ? 'the needle is here\n' : ''
        writeFileSync(
          join(parent, `f${index}.txt`),
          `line one of file ${index}\nplain words that match nothing\n${needle}`,
        )
      }
      return root
    },
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  }
}
