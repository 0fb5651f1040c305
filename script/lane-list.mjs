// Which lanes there are. A lane is a program with its words; `kind`: no two of it run at once, because they look for the same traces.
import { join } from 'node:path'

/** Attacks on the host's own side, which no backend changes, and on what only bwrap has: test/attacks/reach.ts says so of each. */
const onceOnly = [
  'host-paths',
  'layers',
  'policy-nested',
  'seccomp',
  'seccomp-ordinary',
  'settings',
  'symlink-race',
  'terminals-left',
  'vault-settings',
]
/** With a daemon or a database of their own, which takes much waiting and little work, and no trace of which is any other test's. */
const ownDaemons = [
  'docker-dockerd-away',
  'execs-dockerd-away',
  'execs-dockerd',
  'execs-late-dockerd',
  'private-dockerd',
  'execs-doubt',
  'execs-known-ends',
  'execs-postgres',
  'execs-postgres-values',
  'execs-second-server',
  'execs-stopped',
  'execs-stopped-docker',
  'store-postgres',
  'terminal-postgres',
]
/** The two ends. What is between them runs in `script/campaign node-matrix`, with every suite. */
const versions = ['20', '26']

const without = (suite, names) => names.map((name) => `--exclude=test/${suite}/${name}.test.ts`)

/** `required`: as GLOVEBOX_REQUIRE names them. `own`: the version of Node that runs all but those of the other versions. */
export function lanesFor({ root, required, suites, isWhole, own }) {
  const vitest = (suite, ...words) => ({
    kind: suite,
    suite,
    args: [
      join(root, 'node_modules/vitest/vitest.mjs'),
      'run',
      '--project',
      suite,
      ...words,
      '--reporter=default',
      `--reporter=${join(root, 'script/lane-reporter.mjs')}`,
    ],
  })
  // The slow one first.
  const containers = ['docker-runsc', 'docker'].filter((name) => required.has(name))
  const attacksOn = containers.map((backend) => ({
    name: `attacks on ${backend}`,
    ...vitest('attacks', ...without('attacks', onceOnly)),
    env: { GLOVEBOX_ATTACK_BACKEND: backend },
  }))
  const conformanceOf = containers.map((name) => ({
    name: `conformance of ${name}`,
    ...vitest('conformance', `test/conformance/${name}.test.ts`),
  }))
  const daemons = required.has('dockerd') ? ownDaemons : []
  const faultsOfDaemons = {
    name: 'faults of daemons',
    ...vitest('faults', ...daemons.map((name) => `test/faults/${name}.test.ts`)),
    kind: 'daemons',
  }
  const onNode = versions
    .filter((version) => version !== own)
    .map((version) => ({
      name: `Node ${version}`,
      kind: 'node',
      suite: 'whole',
      args: [join(root, 'script/matrix.mjs'), '--short', '--suites', 'unit,conformance,e2e', version],
    }))
  // What tells most, and then the longest first. The kinds take turns, and none is left for the end, where its lanes could
  // only run one after another: with gVisor, `conformance` is as long as `faults`.
  const all = [
    { name: 'check', kind: 'check', suite: 'whole', args: [join(root, 'script/check.mjs')] },
    { name: 'faults', ...vitest('faults', ...without('faults', daemons)) },
    ...conformanceOf.slice(0, 1),
    ...attacksOn.slice(0, 1),
    { name: 'e2e', ...vitest('e2e') },
    ...(daemons.length > 0 ? [faultsOfDaemons] : []),
    ...attacksOn.slice(1),
    { name: 'conformance', ...vitest('conformance', ...without('conformance', containers)) },
    ...onNode.slice(0, 1),
    { name: 'attacks', ...vitest('attacks', ...without('attacks', containers.length > 0 ? ['docker'] : [])) },
    ...conformanceOf.slice(1),
    ...onNode.slice(1),
  ]
  return all.filter(({ suite }) => suites.has(suite) || (isWhole && suite === 'whole'))
}
