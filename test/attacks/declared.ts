// With GLOVEBOX_ATTACK_BACKEND=docker the whole suite attacks docker. What is declared in the catalog as another outcome there is
// skipped, with the reason in sight.
import { beforeEach } from 'vitest'
import { onDocker } from './catalog/docker.ts'

beforeEach((context) => {
  if (process.env['GLOVEBOX_ATTACK_BACKEND'] !== 'docker') return
  const declared = onDocker[context.task.name]
  if (declared !== undefined) context.skip(`on docker: ${declared.outcome}: ${declared.why}`)
})
