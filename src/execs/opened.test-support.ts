// Ground, store and execs for each test of a file. Execs that a test leaves open are closed behind it.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import type { Store } from '../contract/store.ts'
import { openStore } from '../store/open.ts'
import { openExecs, type Execs, type ExecsOptions } from './execs.ts'
import { makeGround, type Ground } from './ground.test-support.ts'
import { stage } from './stage.test-support.ts'

export interface OpenedForTest {
  readonly ground: Ground
  readonly store: Store
  open(options?: Partial<ExecsOptions>): Promise<Execs>
}

/** `onBegin`: before each test, when all of it is there. */
export function execsForEach(onBegin: (opened: OpenedForTest) => void): void {
  const execs: Execs[] = []
  let ground: Ground
  let store: Store
  beforeEach(async () => {
    ground = makeGround()
    await mkdir(join(ground.outside, 'state'))
    store = await openStore({ url: join(ground.outside, 'state', 'glovebox.db') })
    const open: OpenedForTest['open'] = async (options = {}) => {
      const opened = await openExecs({ store, root: ground.root, boundaries: stage(), ...options })
      execs.push(opened)
      return opened
    }
    onBegin({ ground, store, open })
  })
  afterEach(async () => {
    await Promise.all(execs.splice(0).map((each) => each.close()))
    await store.close()
    ground.remove()
  })
}
