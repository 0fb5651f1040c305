import { describe, expect, it } from 'vitest'
import { groundForEach } from './ground.test-support.ts'
import { answeredEvent, askedEvent, listOpenQuestions } from './questions.ts'

const ground = groundForEach()

describe('listOpenQuestions', () => {
  it('lists what was asked and not answered, oldest first, and nothing once the run has ended', async () => {
    const run = await ground().create()
    await run.append(askedEvent('q_1', { kind: 'question', text: 'Which?' }))
    await run.append(askedEvent('q_2', { kind: 'approval', text: 'May I?', choices: ['yes', 'no'] }))
    await run.append(askedEvent('q_3', { kind: 'question', text: 'x'.repeat(5000) }))
    await run.append(answeredEvent('q_1', 'msg_1'))
    const open = await listOpenQuestions(run.directory)
    expect(open.map(({ id }) => id)).toEqual(['q_2', 'q_3'])
    expect(open[0]).toMatchObject({ kind: 'approval', text: 'May I?', choices: ['yes', 'no'] })
    expect(open[1]).toMatchObject({ text: 'x'.repeat(2000), choices: null })
    await run.transition('cancelled')
    expect(await listOpenQuestions(run.directory)).toEqual([])
  })
})
