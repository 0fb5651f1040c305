/** Text as one word of bash's, without a line break. */
export const inOneLine = (text: string): string =>
  `$'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`
