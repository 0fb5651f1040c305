import { table } from './markdown.mjs'

const outcome = { blocked: 'blocked', 'not a boundary': '**not a boundary**' }

export function attackTable({ catalog }) {
  const areas = [...new Set(catalog.map(({ area }) => area))]
  const blocked = catalog.filter(({ bwrap }) => bwrap === 'blocked').length
  const sections = areas.map((area) => {
    const rows = catalog
      .filter((row) => row.area === area)
      .map((row) => [
        row.title,
        [row.defence, row.why].filter(Boolean).join('; '),
        row.seen ?? '',
        outcome[row.bwrap],
        outcome[row.local],
      ])
    return `### ${area}\n\n${table(['what holds', 'by what', 'seen in', '`bwrap`', '`local`'], rows)}`
  })
  return [`${catalog.length} rows; on \`bwrap\` ${blocked} are blocked.`, ...sections].join('\n\n')
}
