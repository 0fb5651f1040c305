// The programs that run_command may start, with the options that they may be given. A program is here only if,
// with these options and operands, it can neither write a file nor start another program nor change the system.
// An option whose value is optional is never listed as one that takes a value: the next argument would be judged
// as the value while the program reads it as an operand. What is not listed is refused; long options must be spelt in full, so that no abbreviation slips through.
//
// SECURITY: left out on purpose — test/attacks/actions: "run_command neither writes nor starts other programs"
// find (-exec, -delete, -fprint), xargs, awk, sed (-i, w, e), tee, tar, tree (-o), xxd (in out), hostname (sets it),
// more and less (!command), env with operands (starts them), sort -o and --compress-program, uniq in out,
// date -s and date MMDDhhmm, file -C and -z, tail -f (never ends), diff -l (starts pr), du and wc --files0-from.
export interface AllowedProgram {
  /** Short options without a value, one letter each. */
  readonly flags?: string
  /** Short options that take a value, attached or as the next argument. */
  readonly valued?: string
  /** Long options without a value. */
  readonly long?: readonly string[]
  /** Long options with a value, after `=` or as the next argument. */
  readonly longValued?: readonly string[]
  /** `-5` as in `head -5`. */
  readonly numeric?: boolean
  /** How many operands at most; any number when absent. */
  readonly maxOperands?: number
  /** What each operand must look like. */
  readonly operand?: RegExp
}

const lines: AllowedProgram = {
  flags: 'qvz',
  valued: 'nc',
  long: ['quiet', 'silent', 'verbose', 'zero-terminated'],
  longValued: ['lines', 'bytes'],
  numeric: true,
}
const checksum: AllowedProgram = { flags: 'btz', long: ['binary', 'text', 'tag', 'zero'] }

export const allowedPrograms: Readonly<Record<string, AllowedProgram>> = {
  pwd: { flags: 'LP', long: ['logical', 'physical'], maxOperands: 0 },
  env: { flags: '0', long: ['null'], maxOperands: 0 },
  id: { flags: 'Ggnruz', maxOperands: 0 },
  whoami: { maxOperands: 0 },
  uname: { flags: 'amnoprsv', maxOperands: 0 },
  nproc: { long: ['all'], maxOperands: 0 },
  date: { flags: 'uR', valued: 'd', long: ['utc'], longValued: ['date'], maxOperands: 1, operand: /^\+/ },
  echo: { flags: 'neE' },
  ls: {
    flags: '1aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxX',
    valued: 'I',
    long: [
      'all',
      'almost-all',
      'directory',
      'human-readable',
      'inode',
      'recursive',
      'reverse',
      'size',
      'full-time',
      'group-directories-first',
    ],
    longValued: ['sort', 'time', 'time-style'],
  },
  cat: {
    flags: 'AbeEnstTuv',
    long: ['number', 'number-nonblank', 'show-all', 'show-ends', 'show-tabs', 'squeeze-blank'],
  },
  tac: {},
  nl: { valued: 'bdfhinsvw' },
  head: lines,
  tail: lines,
  wc: { flags: 'clLmw', long: ['bytes', 'chars', 'lines', 'words', 'max-line-length'] },
  basename: { flags: 'az', valued: 's', long: ['multiple', 'zero'], longValued: ['suffix'] },
  dirname: { flags: 'z', long: ['zero'] },
  realpath: { flags: 'eLmPqsz', longValued: ['relative-to', 'relative-base'] },
  readlink: { flags: 'efmnqsvz' },
  stat: { flags: 'Lft', valued: 'c', long: ['dereference', 'file-system', 'terse'], longValued: ['format', 'printf'] },
  file: { flags: 'bhiLk', long: ['brief', 'mime', 'mime-type', 'mime-encoding', 'dereference', 'no-dereference'] },
  du: {
    flags: '0abchHklLmsSx',
    valued: 'd',
    long: ['all', 'apparent-size', 'bytes', 'human-readable', 'summarize', 'total'],
    longValued: ['max-depth'],
  },
  sort: {
    flags: 'bcCdfghiMmnrsuVz',
    valued: 'kt',
    long: ['ignore-case', 'numeric-sort', 'reverse', 'unique', 'stable', 'version-sort', 'human-numeric-sort'],
    longValued: ['key', 'field-separator'],
  },
  uniq: { flags: 'cdDiuz', valued: 'fsw', long: ['count', 'repeated', 'unique', 'ignore-case'], maxOperands: 1 },
  cut: {
    flags: 'nsz',
    valued: 'bcdf',
    long: ['complement', 'only-delimited'],
    longValued: ['bytes', 'characters', 'delimiter', 'fields', 'output-delimiter'],
  },
  tr: { flags: 'cCdst', maxOperands: 2 },
  paste: { flags: 'sz', valued: 'd' },
  comm: { flags: '123z' },
  fold: { flags: 'bs', valued: 'w' },
  cmp: { flags: 'bls', valued: 'n' },
  diff: {
    flags: 'abBdiNqrstuw',
    valued: 'U',
    long: ['brief', 'recursive', 'unified', 'ignore-case', 'ignore-all-space', 'new-file'],
  },
  grep: {
    flags: 'acEFGhHiIlLnoqrsvwxz',
    valued: 'eABCm',
    long: [
      'count',
      'extended-regexp',
      'fixed-strings',
      'ignore-case',
      'invert-match',
      'line-number',
      'files-with-matches',
      'recursive',
      'only-matching',
      'word-regexp',
    ],
    longValued: ['include', 'exclude', 'exclude-dir', 'max-count', 'context', 'before-context', 'after-context'],
  },
  od: { flags: 'abcdfiloxv', valued: 'AjNt', longValued: ['format', 'read-bytes', 'skip-bytes', 'address-radix'] },
  base64: { flags: 'di', valued: 'w', long: ['decode'], longValued: ['wrap'], maxOperands: 1 },
  md5sum: checksum,
  sha1sum: checksum,
  sha256sum: checksum,
  sha512sum: checksum,
}

export const allowedNames: readonly string[] = Object.keys(allowedPrograms)
