// Which lanes there are. A lane is a program with its words; `kind`: no two of it run at once, because they look for the same traces.
import { join } from 'node:path'

/** Attacks that are on no backend, or name their own: once is enough. */
const onceOnly = ['actions', 'host-paths', 'seccomp', 'seccomp-ordinary', 'settings', 'symlink-race']
const versions = ['20', '22', '24', '26']
/** What runs on the versions on both sides runs between them, too: the two in the middle share what is not pure code. */
const inBetween = { 22: 'conformance', 24: 'e2e' }
const suitesOn = (version) => inBetween[version] ?? 'unit,conformance,e2e'

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
  const onNode = versions
    .filter((version) => version !== own)
    .toSorted((a, b) => suitesOn(b).length - suitesOn(a).length)
    .map((version) => ({
      name: `Node ${version}`,
      kind: 'node',
      suite: 'whole',
      args: [join(root, 'script/matrix.mjs'), '--short', '--suites', suitesOn(version), version],
    }))
  // What tells most, and then the longest first. The kinds take turns, and none is left for the end, where its lanes could
  // only run one after another: with gVisor, `conformance` is as long as `faults`.
  const all = [
    { name: 'check', kind: 'check', suite: 'whole', args: [join(root, 'script/check.mjs')] },
    { name: 'faults', ...vitest('faults') },
    ...conformanceOf.slice(0, 1),
    ...attacksOn.slice(0, 1),
    { name: 'e2e', ...vitest('e2e') },
    ...attacksOn.slice(1),
    { name: 'conformance', ...vitest('conformance', ...without('conformance', containers)) },
    ...onNode.slice(0, 1),
    { name: 'attacks', ...vitest('attacks', ...without('attacks', containers.length > 0 ? ['docker'] : [])) },
    ...conformanceOf.slice(1),
    ...onNode.slice(1),
  ]
  return all.filter(({ suite }) => suites.has(suite) || (isWhole && suite === 'whole'))
}
