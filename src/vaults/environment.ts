// A vault whose values are variables of the operator's own environment, which is handed in.
import { unavailable, type Source } from './source.ts'

export type OperatorEnvironment = Readonly<Record<string, string | undefined>>

export const environmentSource = (variables: readonly string[], operatorEnv: OperatorEnvironment): Source => ({
  kind: 'environment',
  names: () => variables.toSorted(),
  async read({ secret, name }) {
    const value = Object.hasOwn(operatorEnv, secret) ? operatorEnv[secret] : undefined
    if (value === undefined || value === '') throw unavailable(name, "the operator's environment does not have it")
    return Buffer.from(value, 'utf8')
  },
})
