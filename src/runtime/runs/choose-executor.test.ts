import { describe, expect, it } from 'vitest'
import { modelOptionsSchema } from '../../executors/model/options.ts'
import { isGloveboxError } from '../../errors/error.ts'
import { chooseExecutor, type ExecutorChoice } from './choose-executor.ts'

const model = modelOptionsSchema.parse({ model: 'm', baseUrl: 'http://127.0.0.1:1/v1' })

const kindOf = (choice: Partial<ExecutorChoice>): string => {
  try {
    return chooseExecutor({ argv: [], settings: {}, ...choice }).kind
  } catch (error) {
    return isGloveboxError(error) ? error.code : String(error)
  }
}

describe('the choice of an executor', () => {
  it('takes the command that was given before that of the settings', () => {
    const settings = { executor: { command: ['theirs'] } }
    expect(chooseExecutor({ argv: ['mine', 'x'], settings })).toEqual({ kind: 'command', command: ['mine', 'x'] })
    expect(chooseExecutor({ argv: [], settings })).toEqual({ kind: 'command', command: ['theirs'] })
  })

  it('takes the model where the settings name it, or name nothing else', () => {
    expect(kindOf({ settings: { model } })).toBe('model')
    expect(kindOf({ settings: { model, executor: { command: ['x'] } } })).toBe('command')
    expect(kindOf({ settings: { model, executor: { kind: 'model', command: ['x'] } } })).toBe('model')
    expect(kindOf({ asked: 'model', settings: { model, executor: { command: ['x'] } } })).toBe('model')
  })

  it('never guesses: nothing said, or two things, is refused', () => {
    expect(kindOf({})).toBe('INVALID_INPUT')
    expect(kindOf({ asked: 'command' })).toBe('INVALID_INPUT')
    expect(kindOf({ settings: { executor: { kind: 'command' }, model } })).toBe('INVALID_INPUT')
    expect(kindOf({ asked: 'model', argv: ['x'], settings: { model } })).toBe('INVALID_INPUT')
  })

  it('is refused in words that fit the command line and a request alike', () => {
    const hintOf = (choice: Partial<ExecutorChoice>): string => {
      try {
        chooseExecutor({ argv: [], settings: {}, ...choice })
      } catch (error) {
        if (isGloveboxError(error)) return error.hint ?? ''
      }
      throw new Error('it was not refused')
    }
    expect(hintOf({})).toMatch(/behind "--" on the command line, as "command" in a request/)
    expect(hintOf({ asked: 'model', argv: ['x'], settings: { model } })).not.toContain('--')
  })

  it('lets a command on the spot stand against a model of the settings', () => {
    expect(kindOf({ argv: ['x'], settings: { model, executor: { kind: 'model' } } })).toBe('command')
  })
})
