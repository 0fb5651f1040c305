// The reference is whole: what can be typed or called is on its page.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { actions } from '../../src/actions/registry.ts'
import { laterWords } from '../../src/cli/later-words.ts'
import { buildProgram, type ProgramOptions } from '../../src/cli/program.ts'
import { networkModes } from '../../src/contract/policy.ts'
import { parseSettings } from '../../src/runtime/settings-schema.ts'
import { root } from './sources.ts'

const reference = (name: string): string => readFileSync(join(root, 'docs/reference', name), 'utf8')

/** From its heading to the next one. */
function sectionOf(page: string, heading: string): string {
  const from = page.indexOf(`\n${heading}\n`)
  if (from < 0) return ''
  const rest = page.slice(from + heading.length + 1)
  const end = rest.search(/\n#{2,3} /)
  return end < 0 ? rest : rest.slice(0, end)
}

const ignored = (): void => undefined
const options: ProgramOptions = { directory: '/', print: { out: ignored, err: ignored }, choose: ignored }

async function wholeProgram(): Promise<Command> {
  const program = buildProgram(options)
  for (const command of program.commands) (await laterWords[command.name()]?.())?.(command, options)
  return program
}

describe('the reference of the command line', () => {
  it('has every command with its description, its arguments and its flags', async () => {
    const page = reference('cli.md')
    const { commands } = await wholeProgram()
    const all = commands.flatMap((command) => [
      { command, heading: `## glovebox ${command.name()}` },
      ...command.commands.map((inner) => ({
        command: inner,
        heading: `### glovebox ${command.name()} ${inner.name()}`,
      })),
    ])
    expect(all.length).toBeGreaterThan(30)
    for (const { command, heading } of all) {
      const section = sectionOf(page, heading)
      const flags = command.options.filter(({ hidden }) => !hidden).map(({ flags: text }) => text)
      expect(command.description(), `${heading} says what it does`).not.toBe('')
      expect(flags.length + command.commands.length, `${heading} has words of its own`).toBeGreaterThan(0)
      const words = [
        command.description().slice(0, 40),
        ...flags,
        ...command.registeredArguments.map((argument) => argument.name()),
      ]
      expect(
        words.filter((word) => !section.includes(word)),
        `missing below "${heading}"`,
      ).toEqual([])
    }
  })

  it('has every command that a server can serve in docs/client.md, and no other', async () => {
    const { commands } = await wholeProgram()
    const takesServer = (command: Command): boolean => command.options.some(({ long }) => long === '--server')
    const served = commands.flatMap((command) => {
      const inner = command.commands.filter(takesServer).map((each) => each.name())
      if (inner.length > 0) return [`${command.name()} ${inner.join(' | ')}`]
      return takesServer(command) ? [command.name()] : []
    })
    const section = sectionOf(readFileSync(join(root, 'docs/client.md'), 'utf8'), '## The command line')
    const sentence = section.slice(0, section.indexOf('`--server'))
    const told = [...sentence.matchAll(/`([^`]+)`/g)].map(([, words = '']) => words)
    expect(told.toSorted()).toEqual(served.toSorted())
  })

  it('has words for commands only that the program knows', async () => {
    const known = new Set(buildProgram(options).commands.map((command) => command.name()))
    expect(Object.keys(laterWords).filter((name) => !known.has(name))).toEqual([])
  })
})

describe('the reference of policy', () => {
  it('shows a policy that can be used as it stands', () => {
    const [, text = ''] = /^```yaml\n([^]*?)^```$/m.exec(reference('policy.md')) ?? []
    const { policy } = parseSettings({ path: 'glovebox.yaml', text })
    expect(Object.keys(policy ?? {})).toContain('network')
  })

  it('writes a network as it must be written', () => {
    const row =
      reference('policy.md')
        .split('\n')
        .find((line) => line.startsWith('| `network` |')) ?? ''
    const forms = [...row.matchAll(/`(\{ mode: [^`]+)`/g)].map(([, text = '']) => text)
    expect(forms).toHaveLength(networkModes.length)
    for (const form of forms)
      expect(() => parseSettings({ path: 'glovebox.yaml', text: `policy: { network: ${form} }` })).not.toThrow()
  })
})

describe('the reference of actions', () => {
  interface Shape {
    readonly properties?: Readonly<Record<string, unknown>>
    readonly oneOf?: readonly Shape[]
    readonly anyOf?: readonly Shape[]
  }
  const fieldsOf = ({ properties, oneOf, anyOf }: Shape): readonly string[] => [
    ...Object.keys(properties ?? {}),
    ...[...(oneOf ?? []), ...(anyOf ?? [])].flatMap(fieldsOf),
  ]

  it.each(actions.map(({ name }) => name))('tells every field that %s takes and gives', (name) => {
    const schema = JSON.parse(reference(`schemas/${name}.json`)) as Readonly<Record<'input' | 'output', Shape>>
    const [input = '', output = ''] = sectionOf(reference('actions.md'), `## ${name}`).split('\nOutput:\n')
    const missing = (from: Shape, text: string): readonly string[] =>
      fieldsOf(from).filter((field) => !text.includes(`| \`${field}\``))
    expect(missing(schema.input, input)).toEqual([])
    expect(missing(schema.output, output)).toEqual([])
    expect(output.includes('Nothing.')).toBe(fieldsOf(schema.output).length === 0)
  })
})
