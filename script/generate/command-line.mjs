import { page } from './markdown.mjs'

const width = 100

export function commandLinePage({ buildProgram, addRun, addRuns, addServe, addToken }) {
  let printed = ''
  const print = (text) => (printed += text)
  const options = { directory: '/', print: { out: print, err: print }, choose: () => {} }
  const program = buildProgram(options)
  const named = (name) => program.commands.find((command) => command.name() === name)
  addRun(named('run'), options)
  addRuns(named('runs'), options)
  addServe(named('serve'), options)
  addToken(named('token'), options)
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
    ...program.commands.flatMap((command) => [
      `## glovebox ${command.name()}`,
      helpOf(command),
      ...command.commands.flatMap((inner) => [`### glovebox ${command.name()} ${inner.name()}`, helpOf(inner)]),
    ]),
  )
}
