// A name against `*` and `?`. Only the last star is ever tried again, so the work is at most name times pattern,
// where a regular expression made from the pattern could take for ever.
export function matchesWildcard(name: string, pattern: string): boolean {
  let at = 0
  let part = 0
  let star = -1
  let starAt = 0
  while (at < name.length) {
    const wanted = pattern[part]
    if (wanted === '*') {
      star = part++
      starAt = at
    } else if (wanted === '?' || wanted === name[at]) {
      at++
      part++
    } else if (star !== -1) {
      part = star + 1
      at = ++starAt
    } else {
      return false
    }
  }
  while (pattern[part] === '*') part++
  return part === pattern.length
}
