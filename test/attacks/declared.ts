// With GLOVEBOX_ATTACK_BACKEND=docker every file that can attacks docker, and with docker-runsc the same on gVisor. What is declared in the
// catalog as not blocked there is skipped, with the reason in sight.
import { beforeEach } from 'vitest'
import { onDocker } from './catalog/docker.ts'
import { onGvisor } from './catalog/docker-runsc.ts'

const declarations = { docker: onDocker, 'docker-runsc': { ...onDocker, ...onGvisor } }

beforeEach((context) => {
  const name = process.env['GLOVEBOX_ATTACK_BACKEND'] ?? 'bwrap'
  if (name !== 'docker' && name !== 'docker-runsc') return
  const declared = declarations[name][context.task.name]
  if (declared !== undefined && declared.outcome !== 'blocked')
    context.skip(`on ${name}: ${declared.outcome}: ${declared.why}`)
})
