// What a member's directory holds from its first moment: the agent's HOME, and the names that no guest may make there. Put there for good
// and before anybody could have been in it, so that an opening neither makes nor guards stand-ins, which costs more than its walls.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PolicyLayer } from '../../contract/policy.ts'
import { builtInProtectedNames, builtInProtections, findBuiltInProtection } from '../../policy/protect.ts'

/**
 * A member's directories are the guest's own: no project of the operator's is in them, whose tools would run what they find under
 * these names, and `git init` must work there. The operator's settings come later, and may protect names again.
 */
export const guestsOwn: PolicyLayer = {
  layer: 'settings',
  source: 'pool',
  values: { unprotect: builtInProtectedNames.filter((name) => findBuiltInProtection(name)?.essential !== true) },
}

// More than a stand-in holds, so that none is taken for one and removed with a sandbox.
const forGood = '# It belongs to a sandbox of a pool, and stays.\n'

/** SECURITY: only for a directory that this process has just made and nobody else knows: a link in it would be followed.
 * test/attacks/recycle: "a guest cannot make or replace the names of Glovebox in a member" */
export function furnish(directory: string, { withHome }: { readonly withHome: boolean }): void {
  for (const { name, kind, content = '' } of builtInProtections.filter(({ essential }) => essential === true)) {
    if (kind === 'directory') mkdirSync(join(directory, name), { mode: 0o755 })
    else writeFileSync(join(directory, name), `${content}${forGood}`, { mode: 0o644, flag: 'wx' })
  }
  if (withHome) furnishHome(join(directory, '.glovebox'))
}

/** Where that of a project lies. */
function furnishHome(own: string): void {
  writeFileSync(join(own, '.gitignore'), '*\n', { flag: 'wx' })
  for (const name of ['sandbox', 'sandbox/tmp', 'sandbox/.cache']) mkdirSync(join(own, name), { mode: 0o755 })
}
