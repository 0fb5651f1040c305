// The variables that the operator gives to every member. `$NAME` is taken from his own environment; one that is not set there is an
// error, since an empty value in its place would be a guess.
import { GloveboxError } from '../../errors/error.ts'

type Values = Readonly<Record<string, string>>

export function resolveEnvironment(given: Values, operatorEnv: Readonly<Record<string, string | undefined>>): Values {
  return Object.fromEntries(Object.entries(given).map(([name, text]) => [name, valueOf(name, text, operatorEnv)]))
}

function valueOf(name: string, text: string, operatorEnv: Readonly<Record<string, string | undefined>>): string {
  if (text.startsWith('$$')) return text.slice(1)
  if (!text.startsWith('$')) return text
  const asked = text.slice(1)
  const value = Object.hasOwn(operatorEnv, asked) ? operatorEnv[asked] : undefined
  if (value !== undefined) return value
  throw new GloveboxError(
    'INVALID_SETTINGS',
    `Cannot open the pool: its variable ${name} needs ${text}, which is not set`,
    {
      hint: `Set ${asked} before the start. For a value that begins with a dollar, write two.`,
      facts: { field: `pool.environment.${name}` },
    },
  )
}
