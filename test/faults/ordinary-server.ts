// The server as an ordinary user starts it: the kernel asks whoever is not root for the modes of every file and directory, and a guest
// that runs as that user may set them.
import { chmodSync, chownSync, cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makePlace, startExecServer, type ExecServer, type ServerOptions } from '../fixtures/exec-server.ts'
import { checkout, copyPackage, otherUser } from '../fixtures/package-copy.ts'

const id = process.getuid?.() === 0 ? otherUser : undefined

export interface OrdinaryGround {
  start(options?: Omit<ServerOptions, 'uid' | 'glovebox'>): Promise<ExecServer>
  remove(): void
}

export function ordinaryGround(): OrdinaryGround {
  const copy = mkdtempSync(join(tmpdir(), 'glovebox-ordinary-'))
  copyPackage(copy)
  cpSync(join(checkout, 'bin'), join(copy, 'bin'), { recursive: true })
  chmodSync(copy, 0o755)
  return {
    start(options = {}) {
      const place = options.place ?? ownPlace()
      const HOME = place
      return startExecServer({
        ...options,
        place,
        env: { HOME, ...options.env },
        uid: id,
        glovebox: join(copy, 'bin', 'glovebox'),
      })
    },
    remove: () => rmSync(copy, { recursive: true, force: true }),
  }
}

function ownPlace(): string {
  const place = makePlace()
  if (id !== undefined) for (const each of [place, join(place, 'state')]) chownSync(each, id, id)
  return place
}
