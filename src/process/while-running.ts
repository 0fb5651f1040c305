// A command whose place may be somebody else's after its end.
import type { Process } from '../contract/backend.ts'

/** Law of `Process`: kill may be called at any time. Where a boundary serves one command after another, a late one must not end the next. */
export function whileRunning(child: Process): Process {
  let isOver = false
  void child.exit.then(() => (isOver = true))
  return {
    ...child,
    kill() {
      if (!isOver) child.kill()
    },
  }
}
