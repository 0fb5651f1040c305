// A sandbox on a server for `glovebox exec`. Here the person is no operator: what the flags ask for is held against the
// ceilings of the server's own settings.
import type { PolicyValues } from '../../../contract/policy.ts'
import type { Sandbox } from '../../../contract/sandbox.ts'
import { flagLayers, type SandboxFlags } from '../../flags.ts'
import type { Doing } from '../../program.ts'
import { connectTo, refuseLocal } from './connect.ts'

/** No signal ends it halfway: only whoever knows the sandbox can end it. */
export async function createRemoteSandbox(flags: SandboxFlags, doing: Doing): Promise<Sandbox> {
  refuseLocal(flags, ['--mount', '--policy', '--vaults'])
  const { backend, cwd, env } = flags
  return connectTo(flags, doing).sandboxes.create({
    policy: policyOf(flags),
    ...(backend === undefined ? {} : { backend }),
    ...(cwd === undefined ? {} : { cwd }),
    ...(env === undefined ? {} : { env }),
  })
}

export const policyOf = (flags: SandboxFlags): PolicyValues =>
  Object.fromEntries(flagLayers(flags).flatMap(({ values }) => Object.entries(values)))
