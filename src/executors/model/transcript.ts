// transcript.md as a person reads it: a heading per step, what the model said, each call and a bounded result. The guest's
// text stands in fences that it cannot close.
import { oneLine, shorten } from './plain.ts'

const maxSaid = 50_000
const maxInput = 4000
const maxResult = 4000

/** SECURITY: one backtick more than the longest run inside, so that no text of the guest can end its fence and speak as the record.
 * test/e2e/model-run: "the transcript reads step by step, and a result cannot close its fence" */
export function fenced(text: string, language: string): string {
  const runs = text.match(/`{3,}/g) ?? []
  const fence = '`'.repeat(Math.max(3, ...runs.map((run) => run.length + 1)))
  return `${fence}${language}\n${text.endsWith('\n') || text === '' ? text : `${text}\n`}${fence}\n`
}

export const opening = (model: string, prompt: string): string =>
  `# Transcript\n\nModel: ${codeSpan(oneLine(model, 200))}\n\n## Prompt\n\n${fenced(shorten(prompt, maxSaid), 'text')}\n`

export const stepHeading = (step: number): string => `## Step ${step}\n\n`

export const ending = (how: string, numbers: string): string => `## End\n\n${remark(how)}${numbers}\n`

export const said = (text: string): string => (text.trim() === '' ? '' : `${shorten(text.trim(), maxSaid)}\n\n`)

export const remark = (text: string): string => `> ${oneLine(text, 1000)}\n\n`

export interface ShownCall {
  readonly tool: string
  readonly input: unknown
}

export function calledText({ tool, input }: ShownCall): string {
  const heading = `### ${codeSpan(oneLine(tool, 60))}\n\n`
  const command = commandOf(input)
  if (command !== undefined) return heading + fenced(shorten(command, maxInput), 'sh')
  const text = typeof input === 'string' ? input : JSON.stringify(input, null, 2)
  return heading + fenced(shorten(text, maxInput), typeof input === 'string' ? 'text' : 'json')
}

export function answeredText(ok: boolean, text: string): string {
  return `\n${ok ? 'Result' : 'Refused'}:\n\n${fenced(shorten(text, maxResult), 'text')}\n`
}

/** A command reads better as a command than as JSON, where it is all that was asked. */
function commandOf(input: unknown): string | undefined {
  if (typeof input !== 'object' || input === null || !('command' in input)) return undefined
  const others = Object.keys(input).filter((key) => key !== 'command' && key !== 'description')
  return typeof input.command === 'string' && others.length === 0 ? input.command : undefined
}

/** In a code span backticks need more backticks around them; spaces keep those at its ends apart. */
function codeSpan(text: string): string {
  const runs = text.match(/`+/g) ?? []
  if (runs.length === 0) return `\`${text}\``
  const mark = '`'.repeat(Math.max(...runs.map((run) => run.length)) + 1)
  return `${mark} ${text} ${mark}`
}

/** The one argument that tells a person what a call is about. */
export function aboutOf(input: unknown): string {
  if (typeof input !== 'object' || input === null) return ''
  const fields = input as Readonly<Record<string, unknown>>
  const names = ['command', 'question', 'file_path', 'path', 'pattern']
  // A pattern says more than the directory in which it is looked for.
  const name =
    typeof fields['pattern'] === 'string' ? 'pattern' : names.find((each) => typeof fields[each] === 'string')
  return name === undefined ? '' : oneLine(fields[name] as string, 120)
}
