// What a new container must see before a command of the guest's is let in, in the words of its first process. Docker is told paths, and
// looks them up itself a moment later: whoever can write to what leads to one could aim it elsewhere in that moment.
import { mark, quote } from './keeper.ts'

/** What the first process says where it does not see what was meant to be there. No command is begun. */
export const elsewhere = 'elsewhere'

/** `refuse` is run where another thing is seen at this path, and must not come back.
 * SECURITY: test/attacks/docker: "a source that is aimed elsewhere while a container starts is not shown to the guest" */
export const sight = (inodes: ReadonlyMap<string, bigint>, refuse: (path: string) => string): readonly string[] => [
  ...showing(inodes, refuse),
  ...mounted([...inodes.keys()], refuse),
]

/** The keeper says where, in one line. */
export const keeperSight = (inodes: ReadonlyMap<string, bigint>): readonly string[] =>
  sight(
    inodes,
    (path) => `{ printf "%s ${elsewhere} %s\\n" "$${mark}" ${quote(path.replaceAll('\n', '\\n'))}; exit 1; }`,
  )

/** What the keeper has said so. Words of a container are read byte by byte. */
export function placeElsewhere(word: string | undefined): string | undefined {
  if (word?.startsWith(`${elsewhere} `) !== true) return undefined
  return Buffer.from(word.slice(elsewhere.length + 1), 'latin1').toString('utf8')
}

/** By the numbers of files, in the order in which `ls` sorts names. One with a line break in it is asked for alone. */
function showing(inodes: ReadonlyMap<string, bigint>, refuse: (path: string) => string): readonly string[] {
  const paths = [...inodes.keys()].toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)))
  const together = paths.filter((path) => !path.includes('\n'))
  const alone = paths.filter((path) => path.includes('\n')).map((path) => [path])
  const numbers = 'while read -r inode path; do case $inode in *[!0-9]*) ;; *) printf "%s " "$inode" ;; esac; done'
  const asking = [together, ...alone].filter((asked) => asked.length > 0)
  return asking.flatMap((asked) => [
    `set -- $(LC_ALL=C ls -di -- ${asked.map(quote).join(' ')} | ${numbers})`,
    `[ $# = ${asked.length} ] || ${refuse(asked.join(', '))}`,
    ...asked.map((path, index) => `[ "\${${index + 1}}" = ${inodes.get(path)} ] || ${refuse(path)}`),
  ])
}

/**
 * Where a mount shows the guest's own directory, the place of a mount below it can be aimed elsewhere, too, and back again: the file that
 * was meant is then seen there, and nothing is mounted over it.
 */
function mounted(paths: readonly string[], refuse: (path: string) => string): readonly string[] {
  const below = paths.filter((path) => paths.some((other) => path.startsWith(`${other}/`)))
  if (below.length === 0) return []
  const points = `points=$(while read -r id parent device root point rest; do printf "%s " "$point"; done </proc/self/mountinfo)`
  const isPoint = (path: string): string => `case " $points" in *${quote(` ${escaped(path)} `)}*) ;; *) false ;; esac`
  return [points, ...below.map((path) => `${isPoint(path)} || ${refuse(path)}`)]
}

/** As the kernel writes it there. */
const escaped = (path: string): string =>
  path.replaceAll(/[ \t\n\\]/g, (odd) => `\\${odd.charCodeAt(0).toString(8).padStart(3, '0')}`)
