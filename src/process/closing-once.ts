// Gives a descriptor back once, however often it is asked to. A number that was given back is given out again at once, so a second close
// would close what somebody else has opened since, and would not be told that it did.
import { closeSync } from 'node:fs'

export function closingOnce(descriptor: number): () => void {
  let isOpen = true
  return () => {
    if (!isOpen) return
    isOpen = false
    closeSync(descriptor)
  }
}
