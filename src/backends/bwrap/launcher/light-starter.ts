// Starts the children of a process that is all ours without a copy of it: a copy takes a short command longer than most of what it does.
import { openSync } from 'node:fs'
import { Socket } from 'node:net'
import { kill } from 'node:process'
import { closingOnce } from '../../../process/closing-once.ts'
import type { LightSpawner } from '../../../process/light-spawn.ts'
import type { MakePipe } from '../../../process/pipes.ts'
import type { SpawnedChild } from '../../../process/spawn.ts'
import { giveTerminal, joinStreams, wire, wireStandard, type Wiring } from '../../../process/wiring.ts'
import type { Launch, Launcher } from './launcher.ts'
import { followOwnChildren, type OwnChild } from './own-children.ts'
import type { WardenStart } from './owner-warden.ts'

export interface LightStarterParts {
  readonly spawner: LightSpawner
  readonly makePipe: MakePipe
  /** Of every child. */
  readonly ids: { readonly uid: number; readonly gid: number }
}

/** Who starts the children of a launcher. */
export interface Starter extends Pick<Launcher, 'launch'> {
  startWarden(request: WardenStart): void
  close(): void
}

export function openLightStarter({ spawner, makePipe, ids }: LightStarterParts): Starter {
  const children = followOwnChildren(spawner)
  const nullDescriptor = openSync('/dev/null', 'r+')
  const closeNull = closingOnce(nullDescriptor)
  const startWired = ({ file, args, stdin }: Launch, wiring: Wiring): OwnChild => {
    try {
      wiring.giveChildEnds(ids.uid, ids.gid)
      giveTerminal(stdin, ids.uid, ids.gid)
      return children.start({ file, args, ...ids, stdio: wiring.stdio as readonly number[] })
    } catch (error) {
      for (const stream of wiring.ours()) stream?.destroy()
      throw error
    } finally {
      wiring.closeChildEnds()
    }
  }
  return {
    startWarden: (request) => void children.start({ ...request, ...ids, detached: true }),
    async launch(request) {
      const { stdin, extraDescriptors } = request
      const wiring = wire([...wireStandard(stdin, nullDescriptor), ...extraDescriptors], makePipe)
      return joined(startWired(request, wiring), request, wiring)
    },
    close() {
      children.close()
      closeNull()
    },
  }
}

function joined(child: OwnChild, { stdin }: Launch, wiring: Wiring): SpawnedChild {
  const streams = wiring.ours()
  const sockets = streams.filter((stream) => stream instanceof Socket)
  let isRunning = true
  void child.ended.then(() => (isRunning = false))
  child.ref()
  return {
    ...joinStreams(stdin, streams),
    pid: child.pid,
    outputDescriptors: [wiring.ourDescriptor(1), wiring.ourDescriptor(2)],
    ended: child.ended,
    kill(signal) {
      // Not after the end: the number may by then belong to somebody else's process.
      if (isRunning) killQuietly(child.pid, signal)
    },
    unref() {
      child.unref()
      for (const socket of sockets) socket.unref()
    },
    ref() {
      child.ref()
      for (const socket of sockets) socket.ref()
    },
  }
}

function killQuietly(pid: number, signal: NodeJS.Signals): void {
  try {
    kill(pid, signal)
  } catch {
    // Already gone.
  }
}
