// Directories that searches leave out unless asked: what tools generate, fetch or keep for themselves.
export const ignoredDirectories: ReadonlySet<string> = new Set([
  '.git',
  '.hg',
  '.svn',
  'node_modules',
  'bower_components',
  'dist',
  'build',
  'target',
  'coverage',
  '__pycache__',
  '.venv',
  'venv',
  '.tox',
  '.nox',
  '.mypy_cache',
  '.pytest_cache',
  '.ruff_cache',
  '.cache',
  '.next',
  '.nuxt',
  '.turbo',
  '.parcel-cache',
  '.gradle',
  '.terraform',
  // Of the sandbox's own: each search is noted there, and would find itself.
  '.glovebox',
])

/** A name that the caller spells out in the pattern is not left out: `dist/*.js` means dist. */
export function ignoredFor(options: {
  readonly includeIgnored: boolean
  readonly pattern?: string
}): readonly string[] {
  if (options.includeIgnored) return []
  const named = new Set((options.pattern ?? '').split('/'))
  return [...ignoredDirectories].filter((name) => !named.has(name))
}
