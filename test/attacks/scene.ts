// What most attacks need: one host for the file, a ground on which the control may do its damage, and files of the operator.
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import {
  openControlGround,
  openHost,
  type ActionResult,
  type AttackHost,
  type ControlGround,
  type HostOptions,
  type Starter,
} from './host.ts'

export const secret = 'a secret of the operator'

/** An action that was refused for what it asks, not because a test has put it badly. */
export const refused: unknown = { asymmetricMatch: isRefusal, toString: () => 'a refusal' }

function isRefusal(result: ActionResult): boolean {
  return !result.ok && !['INVALID_INPUT', 'UNKNOWN_ACTION', 'INTERNAL', 'UNEXPECTED'].includes(result.code)
}

export interface Scene {
  host(): AttackHost
  /** A fresh directory of the control's own. */
  control(): string
  /** A file of the starter's, with its directories, below the host's `directory`. */
  put(directory: string, name: string, text?: string, mode?: number): string
  /** The same for the control. */
  putControl(directory: string, name: string, text?: string): string
}

/** To be called in a `describe`: opens before its tests and closes after them. */
export function attackScene(starter: Starter, options: HostOptions = {}): Scene {
  let host: AttackHost
  let ground: ControlGround
  let made = 0
  beforeAll(async () => {
    host = await openHost(starter, options)
    ground = openControlGround()
  })
  afterAll(async () => {
    ground.close()
    await host.close()
  })
  return {
    host: () => host,
    control() {
      const directory = join(ground.directory, String(++made))
      mkdirSync(directory)
      ground.give(directory)
      return directory
    },
    put: (directory, name, text = '', mode = 0o644) => put(join(directory, name), { text, mode, give: host.give }),
    putControl: (directory, name, text = '') => put(join(directory, name), { text, mode: 0o644, give: ground.give }),
  }
}

interface Putting {
  readonly text: string
  readonly mode: number
  give(path: string): void
}

function put(path: string, { text, mode, give }: Putting): string {
  makeDirectories(dirname(path), give)
  writeFileSync(path, text)
  give(path)
  chmodSync(path, mode)
  return path
}

function makeDirectories(path: string, give: (path: string) => void): void {
  if (existsSync(path)) return
  makeDirectories(dirname(path), give)
  mkdirSync(path)
  give(path)
}
