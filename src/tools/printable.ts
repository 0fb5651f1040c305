// Text of the guest inside text of ours. Names and program output are the guest's to choose: terminal escapes
// could act on whoever shows the text, and a line break in a file name could forge a line of ours.

// A title or string sequence counts only with its end, in one line: else a lone introducer would swallow the rest.
const terminalSequence =
  /\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B\n]*(?:\u0007|\u001B\\)|[P^_X][^\u001B\n]*\u001B\\|[ -/]*[0-~])/g
const control = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g

/** SECURITY: escapes and control characters are dropped, line breaks and tabs stay.
 * test/attacks/actions: "escape sequences in output do not reach the agent's text" */
export const plainOutput = (output: string): string =>
  output.replaceAll('\r\n', '\n').replaceAll(terminalSequence, '').replaceAll(control, '')

/** SECURITY: one line for certain: a name with anything odd in it is written as JSON writes a string.
 * test/attacks/actions: "a line break in a file name forges no line" */
export const plainName = (name: string): string =>
  /[\p{Cc}\p{Zl}\p{Zp}\p{Surrogate}]/u.test(name) ? JSON.stringify(name) : name
