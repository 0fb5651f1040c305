// A question of the run, put to the person at this terminal. Whoever answers first, here or elsewhere, has answered.
import { createInterface } from 'node:readline'
import { isatty } from 'node:tty'
import type { AskedHere } from '../runtime/runs/mailbox.ts'
import { errorLines, printable } from './output.ts'
import type { Sink } from './sink.ts'

export function putQuestion(asked: AskedHere, err: Sink): void {
  const { question, directory, id } = asked
  const choices = question.choices === undefined ? '' : ` (${question.choices.join(' | ')})`
  void err.write(`${printable(`glovebox: The run asks: ${question.text}${choices}`)}\n`)
  if (err.isTerminal && isatty(0)) readAnswer(asked, err)
  else void err.write(`${printable(`hint: Answer it: glovebox runs answer ${directory} --question ${id} "…"`)}\n`)
}

function readAnswer(asked: AskedHere, err: Sink): void {
  // Not as a terminal: Ctrl-C stays a signal, and ends the run.
  const lines = createInterface({ input: process.stdin, terminal: false })
  asked.signal.addEventListener('abort', () => lines.close(), { once: true })
  const prompt = (): void => void err.write('answer: ')
  lines.on('line', (line) => {
    const { choices } = asked.question
    if (line.trim() === '' || (choices !== undefined && !choices.includes(line.trim()))) return prompt()
    asked.answer(line.trim()).catch((error: unknown) => {
      void err.write(errorLines(error, { debug: false })).then(prompt)
    })
  })
  prompt()
}
