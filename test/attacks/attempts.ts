// Reads what probes/syscalls.c says: one line "<attempt> <answer>" each.
import { expect } from 'vitest'

export type Answers = ReadonlyMap<string, string>

export const readAnswers = (stdout: string): Answers =>
  new Map(
    stdout
      .trim()
      .split('\n')
      .map((line) => line.split(' ') as [string, string]),
  )

/** Every attempt was made, and was answered as told. */
export function expectAnswers(answers: Answers, expected: Readonly<Record<string, string>>): void {
  const given = Object.fromEntries(Object.keys(expected).map((name) => [name, answers.get(name)]))
  expect(given).toEqual(expected)
}

/** The probe does ask: where nothing defends, the kernel gives another answer. */
export function expectOtherwise(control: Answers, refused: Readonly<Record<string, string>>): void {
  for (const [name, answer] of Object.entries(refused)) {
    expect(control.get(name), `control: ${name}`).toBeDefined()
    expect(control.get(name), `control: ${name}`).not.toBe(answer)
  }
}
