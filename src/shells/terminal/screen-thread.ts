// The thread of a screen: a terminal without a display, which follows what a program draws and can draw it again.
import { createRequire } from 'node:module'
import { parentPort, workerData } from 'node:worker_threads'
import type { FromScreen, ScreenData, ToScreen } from './screen-words.ts'

const port = parentPort
if (port === null) throw new Error('this file runs only as a thread of a screen')
const { size, scrollback } = workerData as ScreenData
const require = createRequire(import.meta.url)
const { Terminal } = require('@xterm/headless') as typeof import('@xterm/headless')
const { SerializeAddon } = require('@xterm/addon-serialize') as typeof import('@xterm/addon-serialize')

const terminal = new Terminal({ ...size, scrollback, allowProposedApi: true })
const drawing = new SerializeAddon()
terminal.loadAddon(drawing)

// SECURITY: these are done as often as their number says, or take that much memory, and the guest chooses the number.
// test/attacks/terminals: "a guest that draws without end ends its own screen at most"
const mostTimes = 1000
for (const final of '@ABCDEFGILMPSTXZ`abde')
  terminal.parser.registerCsiHandler({ final }, (numbers) => numbers.flat().some((number) => number > mostTimes))
// SECURITY: an address is kept for each letter that links to it.
// test/attacks/terminals: "a guest that draws without end ends its own screen at most"
terminal.parser.registerOscHandler(8, () => true)

const say = (message: FromScreen): void => port.postMessage(message)

port.on('message', (message: ToScreen) => {
  if (message.kind === 'write') terminal.write(message.bytes, () => say({ kind: 'written' }))
  else if (message.kind === 'resize') terminal.resize(message.size.cols, message.size.rows)
  else terminal.write('', () => say({ kind: 'drawn', text: drawing.serialize() }))
})
say({ kind: 'ready' })
