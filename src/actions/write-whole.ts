// A file's whole content in place of the old one, whatever it was given as.
import { z } from 'zod'
import type { ActionContext } from '../contract/action.ts'
import { parseGuestPath } from '../paths/guest.ts'
import { sha256Hex } from './text/strict.ts'

export const writtenSchema = z.strictObject({
  path: z.string(),
  created: z.boolean(),
  bytes: z.int().nonnegative(),
  sha256: z.string(),
})

interface Asked {
  readonly path: string
  readonly expectedSha256?: string | null | undefined
  readonly parents: boolean
}

export async function writeWhole(
  { boundary, cwd }: ActionContext,
  { path: asked, expectedSha256, parents }: Asked,
  bytes: Uint8Array,
): Promise<z.infer<typeof writtenSchema>> {
  const path = parseGuestPath(asked, cwd)
  const { created } = await boundary.files.write(path, bytes, {
    parents,
    ...(expectedSha256 === undefined ? {} : { expectedSha256 }),
  })
  return { path, created, bytes: bytes.length, sha256: sha256Hex(bytes) }
}
