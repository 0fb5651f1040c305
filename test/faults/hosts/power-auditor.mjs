// Cuts the power, again and again, of the disk whose log it reads, and looks at what a machine would find afterwards.
// Arguments: the built package, a directory of ours with `image` and `log` in it, a seed, how many cuts, who looks, whether the disk was
// `honest` or `lying` (anything else is honest), and whether who looks is of the `same` boot or of one `anew`. Prints one line of JSON for
// each. Runs inside a mount namespace of its own.
//
// A cut at some place of the log leaves: every write before the last flush; of the writes since then any selection, each of
// them whole, lost, or torn between two sectors. That is what a disk with a volatile cache may do, and more than a copy of
// the image file could show. It does not model a disk that lies about a flush, sectors that rot, nor a host's own caches.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { chances } from './chance.mjs'

const [, , dist, place, seed, count, auditName, disk, boot] = process.argv
const { auditMounted } = await import(new URL(auditName, import.meta.url))
const at = (name) => join(place, name)
const sector = 512
const kinds = { write: 1, flush: 2, answer: 3 }

const chance = chances(seed)

function readLog() {
  const bytes = readFileSync(at('log'))
  const records = []
  for (let from = 0; from < bytes.length;) {
    const length = bytes.readUInt32LE(from + 20)
    const body = bytes.subarray(from + 24, from + 24 + length)
    const kind = bytes.readUInt32LE(from)
    if (kind === kinds.answer && body.includes('"what":"end"')) return records
    records.push({ kind, ms: bytes.readDoubleLE(from + 4), offset: bytes.readUIntLE(from + 12, 6), body })
    from += 24 + length
  }
  throw new Error('the log has no end')
}

const lastFlush = (records, before) => {
  for (let index = before; index > 0; index--) if (records[index - 1].kind === kinds.flush) return index
  return 0
}

/** How much of what was not flushed a disk has kept: nothing, some of it, nearly all, all of it in order. */
const tempers = [() => false, () => chance(2) === 0, () => chance(10) !== 0, () => true]

function torn(record) {
  if (record.body.length <= sector || chance(8) !== 0) return record
  const from = sector * chance(record.body.length / sector)
  return chance(2) === 0
    ? { ...record, body: record.body.subarray(0, from) }
    : { ...record, offset: record.offset + from, body: record.body.subarray(from) }
}

/** A disk that lies has kept nothing of the later half of what it was given, whatever it was told: the control. */
function imageAt(records, cut) {
  const image = readFileSync(at('image'))
  const flushed = lastFlush(records, disk === 'lying' ? first + Math.floor((cut - first) / 2) : cut)
  const temper = disk === 'lying' ? tempers[0] : tempers[chance(tempers.length)]
  const unflushed = records.slice(flushed, cut).filter(({ kind }) => kind === kinds.write)
  const kept = unflushed.filter(() => temper()).map((record) => (temper === tempers[3] ? record : torn(record)))
  for (const { kind, offset, body } of [...records.slice(0, flushed), ...kept])
    if (kind === kinds.write) body.copy(image, offset)
  return { image, unflushed: unflushed.length, kept: kept.length }
}

const answersIn = (records) =>
  records
    .filter(({ kind }) => kind === kinds.answer)
    .flatMap(({ body, ms }) =>
      body
        .toString()
        .trimEnd()
        .split('\n')
        .map((line) => ({ ...JSON.parse(line), ms })),
    )

function mount(...argv) {
  const { status, stderr } = spawnSync('mount', argv, { encoding: 'utf8' })
  return status === 0 ? undefined : stderr.trim()
}

/** What a server made for its guests goes a moment after it. */
async function unmount() {
  for (const until = performance.now() + 20_000; spawnSync('umount', [found]).status !== 0; await delay(50))
    if (performance.now() > until) throw new Error('what was found cannot be unmounted')
}

const records = readLog()
// Where it was when it was written: paths are in what is there.
const found = at('mounted')
// Before the first answer there is nothing to lose.
const first = records.findIndex(({ kind }) => kind === kinds.answer)
for (let number = 0; number < Number(count); number++) {
  const cut = disk === 'lying' ? records.length : first + 1 + chance(records.length - first)
  const { image, ...figures } = imageAt(records, cut)
  writeFileSync(at('cut'), image)
  const answers = answersIn(records.slice(0, cut))
  const refused = mount('-o', 'loop', at('cut'), found)
  const seen =
    refused === undefined
      ? await auditMounted({ dist, directory: found, answers, boot, cutMs: records[cut - 1].ms })
      : { faults: [`the filesystem cannot be mounted: ${refused}`] }
  if (refused === undefined) await unmount()
  console.log(JSON.stringify({ cut, ...figures, answers: answers.length, ...seen }))
}
