// What a person would see, kept by a terminal without a display. It reads whatever a guest writes, so it runs in a thread with a
// bounded memory, and is given up when it fails or does not answer: then the terminal goes on without one.
import { Worker } from 'node:worker_threads'
import type { TerminalSize } from '../../contract/terminal.ts'
import type { FromScreen, ScreenData, ToScreen } from './screen-words.ts'

export interface Screen {
  /** Settles when it has been drawn. False: the screen is lost. */
  write(bytes: Uint8Array): Promise<boolean>
  resize(size: TerminalSize): void
  /** What draws it on an empty terminal; undefined: it is lost. */
  draw(): Promise<string | undefined>
  close(): void
}

// A piece is drawn within milliseconds; the thread itself takes longer to start where many do so at once.
const patienceMs = 5000
const startPatienceMs = 60_000
const scrollback = 1000
const memory = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 }

type Waiting = (answer: FromScreen | undefined) => void

export function openScreen(size: TerminalSize): Screen {
  const data: ScreenData = { size, scrollback }
  const thread = new Worker(threadFile(), { workerData: data, env: {}, resourceLimits: memory })
  const waiting: Waiting[] = []
  let isLost = false
  let begin = (): void => {}
  const ready = new Promise<void>((resolve) => (begin = resolve))
  const starting = setTimeout(() => lose(), startPatienceMs)

  const lose = (): void => {
    isLost = true
    clearTimeout(starting)
    begin()
    for (const answer of waiting.splice(0)) answer(undefined)
    void thread.terminate()
  }
  thread.once('message', () => {
    clearTimeout(starting)
    begin()
    thread.on('message', (answer: FromScreen) => waiting.shift()?.(answer))
  })
  thread.on('error', lose)
  thread.on('exit', lose)
  thread.unref()

  const ask = async (question: ToScreen): Promise<FromScreen | undefined> => {
    await ready
    return isLost ? undefined : answerTo(question)
  }
  const answerTo = (question: ToScreen): Promise<FromScreen | undefined> =>
    new Promise((resolve) => {
      // SECURITY: test/attacks/terminals: "a guest that draws without end ends its own screen at most"
      const timer = setTimeout(lose, patienceMs)
      waiting.push((answer) => {
        clearTimeout(timer)
        resolve(answer)
      })
      thread.postMessage(question)
    })

  return {
    write: async (bytes) => (await ask({ kind: 'write', bytes })) !== undefined,
    resize: (to) => thread.postMessage({ kind: 'resize', size: to } satisfies ToScreen),
    async draw() {
      const answer = await ask({ kind: 'draw' })
      return answer?.kind === 'drawn' ? answer.text : undefined
    },
    close: lose,
  }
}

/** A thread needs JavaScript: when the sources themselves are run, as by tests, it comes from the build. */
const threadFile = (): URL =>
  new URL(
    import.meta.url.endsWith('.ts') ? '../../../dist/shells/terminal/screen-thread.js' : './screen-thread.js',
    import.meta.url,
  )
