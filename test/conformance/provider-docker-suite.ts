// The pool as a Provider on `docker`, with one runtime and image. A container never runs as root, so that root runs the cases as an
// ordinary user.
import { providerCases } from '../../src/testing/index.ts'
import { describeAsOtherUser, dockerEnv } from './as-other-user.ts'
import type { DockerSuite } from './docker-suite.ts'
import { describeProviderOn } from './provider-suite.ts'

export async function describeProviderOnDocker({ name, image, runtime }: DockerSuite): Promise<void> {
  if (process.getuid?.() !== 0) return describeProviderOn('docker', { name, docker: { image, runtime } })
  describeAsOtherUser({
    title: `provider on ${name}`,
    driver: 'node-test-provider-driver.mjs',
    backend: 'docker',
    name,
    env: dockerEnv({ image, ...(runtime === undefined ? {} : { runtime }) }),
    limitMs: 10 * 60_000,
    titles: providerCases.map(({ title }) => title),
  })
}
