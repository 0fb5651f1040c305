// The few forms that the pages have in common.

export const note = '<!-- Made by `npm run generate`. Change the source that is named below, not this page. -->'

const cell = (text) => String(text).replaceAll('|', '\\|').replaceAll('\n', ' ')

export function table(headings, rows) {
  const line = (cells) => `| ${cells.map(cell).join(' | ')} |`
  return [line(headings), `|${' --- |'.repeat(headings.length)}`, ...rows.map(line)].join('\n')
}

export const page = (title, source, ...parts) =>
  `${[`# ${title}`, note, `Source: \`${source}\``, ...parts].join('\n\n')}\n`
