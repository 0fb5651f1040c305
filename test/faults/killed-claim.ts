// Kill -9 of a program before each change that it makes to the disk while it takes a sandbox that was laid ahead, one run for each.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { finished } from './finished.ts'
import { faultGround, type FaultGround, type Starter } from './ground.ts'
import { controlGroupsOf, sandboxIdsIn, untilGone } from './traces.ts'

export interface ClaimKills {
  readonly killed: number
  /** What the one said that was killed no more: that it had taken it. */
  readonly beyond: string
  readonly faults: readonly string[]
}

const most = 40

/** `step`: before every so-many-th change. */
export async function killClaims(starter: Starter, step = 1): Promise<ClaimKills> {
  const faults: string[] = []
  for (let nth = 1; nth <= most; nth += step) {
    const ground = faultGround(starter)
    try {
      const host = ground.startHost('claims.mjs', ['claim', String(nth)])
      const { signal, code, stdout, stderr } = await finished(host)
      // What comes behind the claim is not looked at here.
      if (stdout !== '') return { killed: Math.floor(nth / step), beyond: stdout, faults }
      if (signal !== 'SIGKILL') faults.push(`${nth}: the host ended with ${code}: ${stderr}`)
      const { survivors } = await untilGone({ directory: ground.directory, session: host.pid }, 10_000)
      faults.push(...[...survivors, ...(await whatIsLeft(ground))].map((fault) => `before change ${nth}: ${fault}`))
    } finally {
      ground.remove()
    }
  }
  return { killed: most, beyond: 'nothing', faults }
}

/** The next program uses what is there under the same keys, and ends it. */
async function whatIsLeft(ground: FaultGround): Promise<readonly string[]> {
  const ids = sandboxIdsIn(ground.stateDir)
  const { code, stdout, stderr } = await finished(ground.startHost('claims.mjs', ['next']))
  if (code !== 0 || stdout !== 'usable\n') return [`the next program ended with ${code}: ${stdout}${stderr}`]
  const left = ['sandboxes', 'spares', 'bwrap', 'placeholders'].flatMap((name) =>
    readdirSync(join(ground.stateDir, name))
      .filter((each) => each !== '.openings')
      .map((each) => `left ${name}/${each}`),
  )
  return [...left, ...controlGroupsOf(ids).map((path) => `left ${path}`)]
}
