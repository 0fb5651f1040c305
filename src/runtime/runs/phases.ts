// Which state a run is in while it is at work: `running`, or what it waits for. Several things may be waited for at once;
// a person goes before a tool, since only a person has to be told. States change one after another and only where the
// wish differs from what is, so that each costs one sync of the disk at most.
import { isTerminal, type RunStatus } from '../../contract/run.ts'
import type { Run } from '../../runs/run.ts'

export interface Phases {
  /** Settles when the state is on disk. What it answers takes the wish back, and may be called twice. */
  enter(what: 'tool' | 'user'): Promise<() => Promise<void>>
  /** Waits for nothing any more: from here the run can end. */
  settle(): Promise<void>
}

const summaries: Partial<Record<RunStatus, string>> = {
  running: 'The run goes on.',
  waiting_for_tool: 'A tool takes its time.',
  waiting_for_user: 'The run waits for a person.',
}

export function openPhases(run: Pick<Run, 'record' | 'transition'>): Phases {
  const waits = { tool: 0, user: 0 }
  let turn: Promise<void> = Promise.resolve()

  const wanted = (): RunStatus =>
    waits.user > 0 ? 'waiting_for_user' : waits.tool > 0 ? 'waiting_for_tool' : 'running'

  const follow = (): Promise<void> => {
    turn = turn.then(async () => {
      const { status } = run.record
      const to = wanted()
      if (status === to || isTerminal(status)) return
      await run.transition(to, { summary: summaries[to] ?? to })
    })
    return turn
  }

  return {
    async enter(what) {
      waits[what] += 1
      let isLeft = false
      await follow()
      return async () => {
        if (isLeft) return
        isLeft = true
        waits[what] -= 1
        await follow()
      }
    },
    settle() {
      waits.tool = 0
      waits.user = 0
      return follow()
    },
  }
}
