import { page } from './markdown.mjs'

const width = 100

export async function commandLinePage({ buildProgram, laterWords }) {
  let printed = ''
  const print = (text) => (printed += text)
  const options = { directory: '/', print: { out: print, err: print }, choose: () => {} }
  const program = buildProgram(options)
  const helpOf = (command) => {
    printed = ''
    // Commander would ask the terminal, and the page must not depend on one.
    command.configureOutput({ getOutHelpWidth: () => width, getErrHelpWidth: () => width })
    command.outputHelp()
    return `\`\`\`text\n${printed.trim()}\n\`\`\``
  }
  // As it is printed: without the words that are loaded later.
  const sections = ['## glovebox', helpOf(program)]
  for (const command of program.commands) {
    const addWords = await laterWords[command.name()]?.()
    addWords?.(command, options)
    sections.push(`## glovebox ${command.name()}`, helpOf(command))
    for (const inner of command.commands) sections.push(`### glovebox ${command.name()} ${inner.name()}`, helpOf(inner))
  }
  return page('Command line', 'src/cli/program.ts', ...sections)
}
