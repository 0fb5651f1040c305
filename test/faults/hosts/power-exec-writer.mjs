// Asks a server for execs as fast as it is answered, and tells each answer before it asks for the next thing.
// Arguments: the built package, where to write, the file for answers. Prints a point for each answer.
import fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { bodyOf, callerOf, serve } from './power-served.mjs'

const [, , dist, place, answers] = process.argv
const out = fs.openSync(answers, 'a')
const told = (answer) => {
  fs.writeSync(out, `${JSON.stringify(answer)}\n`)
  fs.writeSync(1, '.')
}

const { url } = await serve({ dist, directory: place })
const token = fs.readFileSync(join(place, 'token'), 'utf8').trim()
const call = callerOf(url, token)
// The first answer: from here on there is something to lose.
told({ what: 'token', token })

const said = ({ exec_id, status, exit_code }) => ({ exec_id, status, exit_code })

async function ask(mark, number) {
  const waits = number % 3 === 0
  // What waits for its end without a key is not told to be there before that.
  const key = waits || number % 2 === 0 ? `key-${mark}` : undefined
  const { status, json } = await call('POST', `/sandbox/execs${waits ? '' : '?wait=false'}`, {
    body: bodyOf(mark),
    key,
  })
  if (status >= 300) throw new Error(`${mark} was answered with ${status}: ${JSON.stringify(json)}`)
  told({ what: 'exec', mark, key, exec_id: json.exec_id })
  return json
}

async function follow(mark, begun) {
  let exec = begun
  while (exec.ended_at === null) {
    await delay(20)
    exec = (await call('GET', `/sandbox/execs/${exec.exec_id}`)).json
  }
  told({ what: 'ended', mark, ...said(exec) })
  const ran = join(place, 'data/workspace/projects/demo/work', `ran-${mark}`)
  if (fs.existsSync(ran)) told({ what: 'ran', mark, line: fs.readFileSync(ran, 'utf8') })
}

async function work(lane) {
  for (let number = 0; ; number++) {
    const mark = `${lane}-${number}`
    const exec = await ask(mark, number)
    if (number % 5 === 4) await call('POST', `/sandbox/execs/${exec.exec_id}/cancel`)
    await follow(mark, exec)
  }
}

await Promise.all(['a', 'b', 'c', 'd', 'e'].map(work))
