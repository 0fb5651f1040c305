// The end of several things, in the order in which they are given. One that cannot be closed keeps no other from it.

export async function closeAll(closings: readonly (() => Promise<void>)[]): Promise<void> {
  const faults: unknown[] = []
  for (const close of closings) {
    try {
      await close()
    } catch (error) {
      faults.push(error)
    }
  }
  if (faults.length > 1) throw new AggregateError(faults, 'several parts could not be closed')
  if (faults.length === 1) throw faults[0]
}
