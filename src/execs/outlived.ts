// What becomes of our own execs when other servers have believed us dead. They have taken what they found; what came into the store
// later, or what they passed over, is still ours, and goes on under our new name. Nothing of it is lost: this process knows it.
import type { Store } from '../contract/store.ts'
import { openExecs } from './recover.ts'
import type { Work } from './work.ts'

export interface OutlivedParts {
  readonly store: Store
  readonly work: Work
}

export async function keepOwn({ store, work }: OutlivedParts, former: string, self: string): Promise<void> {
  await work.rename(former, self)
  for (const { exec_id } of await openExecs(store, former)) {
    // One that waits goes on waiting, with its environment; one that nobody works on is found among the strays.
    if (!work.ids.includes(exec_id)) await store.execs.takeOver(exec_id, { from: former, to: self })
  }
}
