// Where packages of ours lie: the directories in which Node looks for them, nearest first. Asking Node for a package by its name
// costs a short command dearly, so what is needed of one is looked for by hand.

/** `directory`: absolute, of a file of ours. */
export function packagePlaces(directory: string): readonly string[] {
  const names = directory.split('/')
  return names.map((_, index) => `${names.slice(0, names.length - index).join('/')}/node_modules`)
}
