import { page } from './markdown.mjs'

const width = 100

export function commandLinePage({ buildProgram }) {
  let printed = ''
  const print = (text) => (printed += text)
  const program = buildProgram({ directory: '/', print: { out: print, err: print }, choose: () => {} })
  const helpOf = (command) => {
    printed = ''
    // Commander would ask the terminal, and the page must not depend on one.
    command.configureOutput({ getOutHelpWidth: () => width, getErrHelpWidth: () => width })
    command.outputHelp()
    return `\`\`\`text\n${printed.trim()}\n\`\`\``
  }
  return page(
    'Command line',
    'src/cli/program.ts',
    '## glovebox',
    helpOf(program),
    ...program.commands.flatMap((command) =>
      command.name() === 'help' ? [] : [`## glovebox ${command.name()}`, helpOf(command)],
    ),
  )
}
