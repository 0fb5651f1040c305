import { table } from './markdown.mjs'

const outcome = { blocked: 'blocked', 'not a boundary': '**not a boundary**', 'does not apply': '–' }

export function attackTable({ catalog }) {
  const areas = [...new Set(catalog.map(({ area }) => area))]
  const blocked = catalog.filter(({ bwrap }) => bwrap === 'blocked').length
  const sections = areas.map((area) => {
    const rows = catalog
      .filter((row) => row.area === area)
      .map((row) => [
        row.title,
        [row.defence, row.why, row.dockerWhy && `docker: ${row.dockerWhy}`, row.runscWhy && `gVisor: ${row.runscWhy}`]
          .filter(Boolean)
          .join('; '),
        row.seen ?? '',
        outcome[row.bwrap],
        outcome[row.docker],
        outcome[row.runsc],
        outcome[row.local],
      ])
    return `### ${area}\n\n${table(['what holds', 'by what', 'seen in', '`bwrap`', '`docker`', 'gVisor', '`local`'], rows)}`
  })
  const onDocker = catalog.filter(({ docker }) => docker === 'blocked').length
  const onGvisor = catalog.filter(({ runsc }) => runsc === 'blocked').length
  const head = `${catalog.length} rows; on \`bwrap\` ${blocked} are blocked, on \`docker\` ${onDocker}, on \`docker\` with gVisor ${onGvisor}.`
  return [head, ...sections].join('\n\n')
}
