import assert from 'node:assert/strict'
import type { ConformanceCase } from '../case.ts'
import { failed, hidesTheHost, refused, succeeded } from '../expect.ts'

// What shells set for themselves; whatever else the guest sees must have been allowed.
const setByShells = new Set(['PWD', 'OLDPWD', 'SHLVL', '_'])
/** A backend may mark what it starts, to find it again. */
const isOwnMark = (name: string): boolean => name.startsWith('GLOVEBOX_')

const refusesName = (name: string, shown: string): ConformanceCase => ({
  title: `an environment name ${shown} is refused with INVALID_ENV`,
  async run({ scene }) {
    const { sandbox } = await scene('plain')
    await refused('INVALID_ENV', sandbox.commands.run(['true'], { env: { [name]: 'x' } }))
  },
})

const pointsTo = (variable: string, field: 'homeDir' | 'tmpDir' | 'cacheDir'): ConformanceCase => ({
  title: `${variable} is the ${field} that describe tells, and can be written`,
  async run({ scene }) {
    const { sandbox } = await scene('plain')
    const result = await sandbox.commands.run(
      `mkdir -p "$${variable}" && echo x > "$${variable}/x" && echo "$${variable}"`,
    )
    assert.equal(succeeded(result).trim(), sandbox.describe()[field])
  },
})

export const environmentCases: readonly ConformanceCase[] = [
  pointsTo('HOME', 'homeDir'),
  pointsTo('TMPDIR', 'tmpDir'),
  pointsTo('XDG_CACHE_HOME', 'cacheDir'),
  {
    title: 'GLOVEBOX=1 tells a program where it is',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      assert.equal(succeeded(await sandbox.commands.run('echo $GLOVEBOX')), '1\n')
    },
  },
  {
    title: 'GLOVEBOX_HOME_DIR and GLOVEBOX_CACHE_DIR are set',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const { homeDir, cacheDir } = sandbox.describe()
      const text = succeeded(await sandbox.commands.run('echo $GLOVEBOX_HOME_DIR $GLOVEBOX_CACHE_DIR'))
      assert.equal(text, `${homeDir} ${cacheDir}\n`)
    },
  },
  {
    title: 'what one command leaves in HOME the next one finds',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      succeeded(await sandbox.commands.run('echo kept > "$HOME/kept"'))
      assert.equal(succeeded(await sandbox.commands.run('cat "$HOME/kept"')), 'kept\n')
    },
  },
  {
    title: "the guest's environment holds the names that describe lists, and no other",
    requires: ['environment.isolated'],
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const text = succeeded(await sandbox.commands.run(['env', '-0']))
      const names = text
        .split('\0')
        .filter(Boolean)
        .map((line) => line.slice(0, line.indexOf('=')))
      const listed = new Set(sandbox.describe().environment)
      const foreign = names.filter((name) => !listed.has(name) && !setByShells.has(name) && !isOwnMark(name))
      assert.deepEqual(foreign, [])
      assert.ok(names.includes('HOME') && names.includes('PATH'))
    },
  },
  {
    title: "the sandbox's environment reaches every command",
    async run({ create }) {
      const sandbox = await create({ env: { FROM_SANDBOX: 'yes' } })
      assert.equal(succeeded(await sandbox.commands.run('echo $FROM_SANDBOX')), 'yes\n')
      assert.equal(succeeded(await sandbox.commands.run(['printenv', 'FROM_SANDBOX'])), 'yes\n')
    },
  },
  {
    title: "a command's environment is laid over the sandbox's, for that command only",
    async run({ create }) {
      const sandbox = await create({ env: { WHO: 'sandbox' } })
      assert.equal(succeeded(await sandbox.commands.run('echo $WHO', { env: { WHO: 'command' } })), 'command\n')
      assert.equal(succeeded(await sandbox.commands.run('echo $WHO')), 'sandbox\n')
    },
  },
  {
    title: 'a variable that one command exports is unknown to the next',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      succeeded(await sandbox.commands.run('export LEFT_OVER=1'))
      failed(await sandbox.commands.run(['printenv', 'LEFT_OVER']))
    },
  },
  {
    title: 'values with spaces, quotes, newlines, equals signs and characters beyond ASCII arrive unchanged',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const value = ` a "b" 'c' $d \`e\` \\ = = \n line two ß😀 `
      assert.equal(succeeded(await sandbox.commands.run(['printenv', 'ODD'], { env: { ODD: value } })), `${value}\n`)
    },
  },
  {
    title: 'an empty value is set, not missing',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      assert.equal(succeeded(await sandbox.commands.run('echo "${EMPTY-unset}"', { env: { EMPTY: '' } })), '\n')
    },
  },
  refusesName('', 'that is empty'),
  refusesName('A=B', 'with an equals sign'),
  refusesName('A\0B', 'with a NUL byte'),
  {
    title: 'an environment value with a NUL byte is refused with INVALID_ENV',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      await refused('INVALID_ENV', sandbox.commands.run(['true'], { env: { A: 'x\0y' } }))
    },
  },
  {
    title: 'describe lists names of the environment and never values',
    async run({ create }) {
      const sandbox = await create({ env: { API_TOKEN: 'value-5d1e' } })
      assert.ok(sandbox.describe().environment.includes('API_TOKEN'))
      assert.ok(!JSON.stringify(sandbox.describe()).includes('value-5d1e'))
    },
  },
  {
    title: 'no value of the environment names a host directory',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      hidesTheHost(succeeded(await sandbox.commands.run(['env'])))
    },
  },
]
