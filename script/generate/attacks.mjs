import { table } from './markdown.mjs'

const outcome = { blocked: 'blocked', 'not a boundary': '**not a boundary**', 'does not apply': '–' }
const isolating = ['bwrap', 'docker', 'runsc']

/** The host's side is tried once, and holds everywhere: said so, since it was not tried on each. */
const shown = (row, backend) => `${outcome[row[backend]]}${row.hostSide && row[backend] === 'blocked' ? ' (host)' : ''}`

const countOf = (rows, backend) => {
  const blocked = rows.filter((row) => row[backend] === 'blocked')
  const there = blocked.filter(({ hostSide }) => hostSide === undefined).length
  const open = rows.filter((row) => row[backend] === 'not a boundary').length
  const apart = rows.length - blocked.length - open
  return [`${blocked.length}`, `${there}`, `${blocked.length - there}`, `${open}`, `${apart}`]
}

export function attackTable({ catalog }) {
  const areas = [...new Set(catalog.map(({ area }) => area))]
  const sections = areas.map((area) => {
    const own = catalog.filter((row) => row.area === area)
    const rows = own.map((row) => [
      row.title,
      [row.defence, row.why, row.dockerWhy && `docker: ${row.dockerWhy}`, row.runscWhy && `gVisor: ${row.runscWhy}`]
        .filter(Boolean)
        .join('; '),
      row.seen ?? '',
      ...[...isolating, 'local'].map((backend) => shown(row, backend)),
    ])
    const reasons = [...new Set(own.map(({ hostSide }) => hostSide).filter(Boolean))]
    const note = reasons.length > 0 ? [`*(host)*: ${reasons.join('; ')}.`] : []
    const words = ['what holds', 'by what', 'seen in', '`bwrap`', '`docker`', 'gVisor', '`local`']
    return [`### ${area}`, ...note, table(words, rows)].join('\n\n')
  })
  const names = { bwrap: '`bwrap`', docker: '`docker`', runsc: '`docker` with gVisor' }
  const counted = isolating.map((backend) => [names[backend], ...countOf(catalog, backend)])
  const head = [`${catalog.length} rows.`, '', 'blocked', 'tried there', "host's side", 'not a boundary', '–']
  return [head[0], table(head.slice(1), counted), ...sections].join('\n\n')
}
