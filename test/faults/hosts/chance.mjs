// Numbers that look like chance and come again with the same seed (a linear congruence, of which only the high bits count:
// the low ones repeat after a few).
export function chances(seed) {
  let state = Number(seed) >>> 0
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}
