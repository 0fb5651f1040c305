// What a model or a provider said, made fit for a record: without the key, without terminal sequences, and bounded.

// A title or string sequence counts only with its end, in one line: else a lone introducer would swallow the rest.
const terminalSequence =
  /\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B\n]*(?:\u0007|\u001B\\)|[P^_X][^\u001B\n]*\u001B\\|[ -/]*[0-~])/g
const control = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g

export type Clean = (text: string) => string

/** SECURITY: providers quote requests in their errors, and a log is read by more people than may have the key.
 * test/e2e/model-run: "the key is in no record and in no request but its header"
 * SECURITY: escapes are dropped, since a transcript is read in a terminal.
 * src/executors/model/plain: "terminal sequences and control characters are dropped, line breaks and tabs stay" */
export function cleaner(apiKey: string): Clean {
  return (text) => {
    const keyless = apiKey === '' ? text : text.replaceAll(apiKey, '[key]')
    return keyless.replaceAll('\r\n', '\n').replaceAll(terminalSequence, '').replaceAll(control, '')
  }
}

/** Beginning and end, and between them how much was left out. */
export function shorten(text: string, max: number): string {
  if (text.length <= max) return text
  const half = Math.floor(max / 2)
  // Half of a surrogate pair is no character.
  const head = text.slice(0, half).replace(/[\uD800-\uDBFF]$/, '')
  const tail = text.slice(-half).replace(/^[\uDC00-\uDFFF]/, '')
  return `${head}\n… ${text.length - head.length - tail.length} characters left out …\n${tail}`
}

export function oneLine(text: string, max: number): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length <= max ? line : `${line.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}
