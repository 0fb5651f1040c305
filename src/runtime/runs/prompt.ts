// The prompt as the guest finds it. Not the snapshot itself, beside which the whole run directory lies, but a copy in a
// directory of its own that is mounted read-only.
// SECURITY: neither the prompt nor anything else of the run's record can be changed, or seen, from inside.
// test/e2e/run: "the guest can change neither prompt nor config, and sees nothing else of the run directory"
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { placeIn } from '../../runs/layout.ts'
import { asStorageError } from '../../runs/storage-error.ts'
import type { MountRequest } from '../mount-text.ts'

const guestDirectory = '/prompt'
const fileName = 'prompt.md'

export const promptVariable = 'GLOVEBOX_PROMPT_FILE'
export const guestPromptFile = `${guestDirectory}/${fileName}`

export function showPrompt(directory: string, prompt: string): MountRequest {
  const place = join(placeIn(directory, 'archive'), 'prompt')
  try {
    mkdirSync(place, { mode: 0o755 })
    writeFileSync(join(place, fileName), prompt, { flag: 'wx', mode: 0o444 })
  } catch (error) {
    throw asStorageError(error, 'show the prompt to the guest')
  }
  return { guestPath: guestDirectory, hostPath: place, mode: 'ro' }
}
