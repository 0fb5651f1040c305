import { page, table } from './markdown.mjs'

const meanings = {
  network:
    '`{ mode: none }`, `{ mode: full }`, or `{ mode: allowlist, allow: [example.org] }`. An empty or missing list denies everything.',
  timeoutMs: 'A command that takes longer is ended with everything that it started.',
  maxStdoutBytes: 'What is kept of standard output; the rest is drained, and the command is not ended for it.',
  maxStderrBytes: 'The same for standard error.',
  maxArtifactsBytes: 'What may be collected as artifacts.',
  memoryMb: 'Memory of everything in the sandbox together.',
  cpuCores: 'Cores for everything in the sandbox together.',
  pids: 'Processes and threads at one time.',
  fileSizeMb: 'The largest file that a command may write.',
  tmpMb: 'Size of the private `/tmp`.',
  shmMb: 'Size of the private `/dev/shm`.',
  env: 'Names that pass from the operator’s environment into the guest’s, beside the built-in list.',
  secrets:
    'Secrets that a command may be given, each with its vault: `keys/token`. A ceiling lets requests ask for more than is granted to all.',
  delete: 'May file actions delete? Commands inside writable mounts are not governed by this.',
  protect:
    'Names below every writable mount that commands and file actions may neither change nor create. Layers add to the list; only settings take a name away, with `unprotect`.',
  denyRead: 'Guest paths that can be neither read nor listed. Layers only add.',
}

const example = `policy:
  network: { mode: none }
  timeoutMs: 120000
  memoryMb: 2048
  protect: [deploy.sh]
  ceilings: # how much more a request may ask for
    network: { mode: full }
    memoryMb: 8192
`

export function policyPage({ fieldRules, policyFields, formatValue, builtInProtections }) {
  const missing = policyFields.filter((field) => meanings[field] === undefined)
  if (missing.length > 0) throw new Error(`script/generate/policy.mjs does not say what ${missing.join(', ')} means`)
  const value = (field, shown) => (Array.isArray(shown) && shown.length > 8 ? 'see below' : formatValue(field, shown))
  const rows = policyFields.map((field) => {
    const { unit, initial, ceiling, capability } = fieldRules[field]
    // An empty list of restrictions needs nothing; the page tells what an entry needs.
    const needed = capability(unit === 'names' ? ['…'] : initial)
    return [
      `\`${field}\``,
      meanings[field],
      value(field, initial),
      ceiling === undefined ? '–' : value(field, ceiling),
      needed === undefined ? '–' : `\`${needed}\``,
    ]
  })
  return page(
    'Policy',
    'src/policy/fields.ts',
    'Layers, in order: built-in default, settings, skill manifest, request. A later layer replaces a value. Only settings move a ceiling; whoever else asks for more is refused with `POLICY_ESCALATION`. On the command line the person is the operator, so flags count as settings. `glovebox explain` prints every value in force with the layer that set it.',
    'The last column names the capability that a backend must have. What a person asked for and a backend cannot enforce is refused with `POLICY_UNENFORCEABLE`; what only the default asks for is listed as not enforced, with the reason.',
    table(['field', 'meaning', 'default', 'ceiling', 'needs'], rows),
    '## As it is written',
    'In glovebox.yaml the policy stands below `policy:`. A file for `--policy` has the same fields without that line, and a request over HTTP has them as JSON, without ceilings.',
    `\`\`\`yaml\n${example}\`\`\``,
    '## Protected names',
    'Below every writable mount, whether they exist or not. Those marked with * cannot be given up even by settings.',
    table(
      ['name', 'why'],
      builtInProtections.map(({ name, reason, essential }) => [`\`${name}\`${essential === true ? ' *' : ''}`, reason]),
    ),
  )
}
