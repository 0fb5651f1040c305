/** Asked for while it is under way, it is the one that is. */
export function oneAtATime(act: () => Promise<void>, onFault: (error: unknown) => void): () => Promise<void> {
  let going: Promise<void> | undefined
  return () =>
    (going ??= act()
      .catch(onFault)
      .finally(() => (going = undefined)))
}
