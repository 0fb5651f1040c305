// One JSON line for each request and for each thing that an operator should know. No line holds a query, a body, a header
// that may carry a secret, or a value of an environment variable; what a stranger wrote is escaped by being JSON.
import { pino } from 'pino'

export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

export interface Log {
  info(facts: Readonly<Record<string, unknown>>, message: string): void
  warn(facts: Readonly<Record<string, unknown>>, message: string): void
  error(facts: Readonly<Record<string, unknown>>, message: string): void
}

export interface LogOptions {
  readonly level: LogLevel
  /** Takes whole lines. */
  readonly write: (line: string) => void
}

export const createLog = ({ level, write }: LogOptions): Log =>
  pino(
    {
      level,
      // The process is named by whoever collects the lines.
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      // A second fence: nothing of ours has such names, and nothing under them is ever printed.
      redact: ['authorization', 'token', '*.authorization', '*.token', '*.env', 'env'],
    },
    { write },
  )
