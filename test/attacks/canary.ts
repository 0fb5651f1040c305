// Values that nobody else has, and ways to look for them where redaction does not: inside, a probe says them in a form of its own
// (every letter moved by thirteen), so that a value that is there is seen in spite of all redaction; outside, on disk.
import { randomBytes } from 'node:crypto'
import { lstatSync, readFileSync } from 'node:fs'
import { filesBelow } from '../fixtures/files-below.ts'

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

export const newCanary = (): string =>
  `canary-${Array.from(randomBytes(24), (byte) => letters[byte % letters.length]).join('')}`

/** As `moved` in a shell says it. */
export const movedByThirteen = (text: string): string =>
  text.replaceAll(/[A-Za-z]/g, (letter) => {
    const first = letter <= 'Z' ? 65 : 97
    return String.fromCharCode(((letter.charCodeAt(0) - first + 13) % 26) + first)
  })

/** Passes a stream on with every letter moved; NULs become line ends. */
export const moved = `tr '\\0A-Za-z' '\\nN-ZA-Mn-za-m'`

/** What begins like a canary in the memory of any process that lets itself be read. Its own words hold no beginning of one. */
const searchMemory = `
import glob, re
word = re.compile(b'cana' + b'ry-[A-Za-z]{24}')
for maps in glob.glob('/proc/[0-9]*/maps'):
  try:
    regions = [line.split()[0] for line in open(maps) if ' r' in line and '[v' not in line]
    memory = open(maps[:-4] + 'mem', 'rb', 0)
  except OSError: continue
  for region in regions:
    first, last = (int(end, 16) for end in region.split('-'))
    try:
      memory.seek(first)
      print(*(found.decode() for found in word.findall(memory.read(min(last - first, 1 << 24)))))
    except (OSError, ValueError, OverflowError): pass
`

const probes = [
  'env',
  'cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline',
  `python3 -c ${quoted(searchMemory)}`,
  'cat /run/secrets/* /vaults/*/*',
  'grep -r . /tmp /var/tmp /dev/shm /run /home/agent /.glovebox',
  'cat /proc/sysvipc/* /proc/keys',
]
// Pipes have no end.
const descriptors = 'for file in /proc/[0-9]*/fd/*; do timeout 0.05 head -c 100000 "$file"; done'

const inOneBreath = (all: readonly string[]): string =>
  all.map((probe) => `{ timeout 5 sh -c ${quoted(probe)} </dev/null | head -c 8000000; } 2>/dev/null`).join('; ')

/** Everything that a command can reach of others. What is not there, or refused, says nothing. */
export const searchEverywhere = inOneBreath([...probes, descriptors])
/** The same from a persistent shell, which would lose its next command to whoever reads its pipes. */
export const searchFromShell = inOneBreath(probes)

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** Every file at or below these places that holds any of the texts, in any of the forms that are redacted. */
export function filesHolding(texts: readonly string[], places: readonly string[]): readonly string[] {
  const needles = texts.flatMap((text) => [
    Buffer.from(text),
    Buffer.from(Buffer.from(text).toString('base64').replace(/.=*$/, '')),
    Buffer.from(Buffer.from(`x${text}`).toString('base64').slice(2).replace(/.=*$/, '')),
    Buffer.from(Buffer.from(`xx${text}`).toString('base64').slice(3).replace(/.=*$/, '')),
    Buffer.from(Buffer.from(text).toString('hex')),
  ])
  const files = places.flatMap((place) => (lstatSync(place).isFile() ? [place] : filesBelow(place)))
  return files.filter((path) => {
    const bytes = bytesOf(path)
    return needles.some((needle) => bytes.includes(needle))
  })
}

/** Locks come and go while one looks. */
function bytesOf(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0)
    throw error
  }
}
