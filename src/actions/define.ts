// Keeps the literal types of an action's schemas, so that `perform` is checked against them.
import type { z } from 'zod'
import type { Action } from '../contract/action.ts'

export const defineAction = <Name extends string, Input extends z.ZodType, Output extends z.ZodType>(
  action: Action<Name, Input, Output>,
): Action<Name, Input, Output> => action
