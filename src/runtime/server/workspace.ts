// Where the directories of execs lie: as the settings say for this kind of host, else below the server's data.
import { mkdirSync, realpathSync, statSync } from 'node:fs'
import { release } from 'node:os'
import { join } from 'node:path'
import { GloveboxError } from '../../errors/error.ts'
import { adaptRoot, type NativeRoot } from '../../paths/native/adapt.ts'
import { detectRuntime } from '../../paths/native/runtime.ts'
import { askWslpath } from '../../process/wslpath.ts'
import type { Settings } from '../settings.ts'

export function placeWorkspace(settings: Settings['sandbox'], data: string): NativeRoot {
  const { runtime: asked = 'auto', workspace_root, workspace_root_win, workspace_root_wsl } = settings ?? {}
  const interop = process.env['WSL_INTEROP'] !== undefined || process.env['WSL_DISTRO_NAME'] !== undefined
  const runtime = detectRuntime(asked, { platform: process.platform, release: release(), interop })
  const isNamed = [workspace_root, workspace_root_win, workspace_root_wsl].some((each) => each !== undefined)
  const roots = isNamed
    ? { workspace_root, workspace_root_win, workspace_root_wsl }
    : { workspace_root: join(data, 'workspace') }
  return prepared(adaptRoot({ runtime, roots, wslpath: askWslpath }))
}

function prepared(asked: NativeRoot): NativeRoot {
  const path = asked.host_path_native
  mkdirSync(path, { recursive: true, mode: 0o700 })
  const { mode, uid } = statSync(path)
  // SECURITY: whoever can write here could put a link where the server writes its records.
  // test/attacks/execs: "a workspace that others can write is refused"
  if ((mode & 0o022) !== 0 || uid !== process.geteuid?.())
    throw new GloveboxError('NOT_PERMITTED', 'Cannot use the workspace: somebody else owns it, or can write it', {
      hint: 'Choose a directory of your own, or take the right to write it from the others.',
      operatorDetail: path,
    })
  const real = realpathSync(path)
  return real === path ? asked : adaptRoot({ runtime: asked.runtime, roots: { workspace_root: real } })
}
