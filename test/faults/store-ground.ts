// SQLite files that come to harm: made by a process that is killed, held by one that does not let go.
import { spawn } from 'node:child_process'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DatabaseSync } from '@photostructure/sqlite'
import type { Store } from '../../src/contract/store.ts'
import { openStore } from '../../src/store/open.ts'

export interface StoreGround {
  readonly file: string
  open(options?: { readonly waitMs?: number; readonly onDamage?: 'refuse' }): Promise<Store>
  /** What lies beside the file. */
  names(): readonly string[]
  /** Closes the store, and its connections too: the library ends those when their statements are collected as garbage. */
  release(store: Store): Promise<void>
  close(): Promise<void>
}

export function storeGround(): StoreGround {
  const directory = mkdtempSync(join(tmpdir(), 'glovebox-store-harm-'))
  const file = join(directory, 'glovebox.db')
  const opened: Store[] = []
  return {
    file,
    async open(options = {}) {
      const store = await openStore({ url: file, onDamage: 'quarantine', ...options })
      opened.push(store)
      return store
    },
    async release(store) {
      await store.close()
      opened.splice(opened.indexOf(store), 1)
      for (let times = 0; times < 3; times++) {
        collectGarbage()
        await new Promise<void>((go) => {
          setImmediate(go)
        })
      }
    },
    names: () => readdirSync(directory).toSorted(),
    async close() {
      await Promise.all(opened.map((store) => store.close()))
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

export interface WriterOptions {
  readonly afterRows: number
  /** It writes no more. Else it goes on until the kill meets it, however late that comes. */
  readonly thenWaits?: boolean
}

/** Ids that a writer was answered for before it was killed with SIGKILL, in the order of the answers. */
export async function killedWriter(file: string, options: WriterOptions): Promise<readonly string[]> {
  const most = options.thenWaits === true ? [String(options.afterRows)] : []
  const argv = [here('hosts/store-writer.mjs'), here('../../dist/store/open.js'), file, '8', ...most]
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  for await (const chunk of child.stdout) {
    text += String(chunk)
    if (text.split('\n').length > options.afterRows) child.kill('SIGKILL')
  }
  // The last line is whole or nobody was told.
  return text.split('\n').slice(0, -1)
}

/** Another connection that holds the write lock until it is let go. */
export function holdLock(file: string): () => void {
  const database = new DatabaseSync(file)
  database.exec('begin exclusive')
  return () => {
    database.exec('rollback')
    database.close()
  }
}
