// Sizes and durations as people write them. A number without its unit is refused where the unit could be guessed wrongly.
import { GloveboxError } from '../errors/error.ts'

const kibibyte = 1024
const sizeUnits: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  k: kibibyte,
  m: kibibyte ** 2,
  g: kibibyte ** 3,
  t: kibibyte ** 4,
}
const durationUnits: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `512m`, `1g`, `1.5GiB`, `1048576`: bytes, in powers of 1024. */
export function parseSizeBytes(text: string, flag: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*(?:([bkmgt]?)|([kmgt])i?b)$/i.exec(text)
  const unit = sizeUnits[(match?.[2] ?? match?.[3] ?? 'none').toLowerCase()]
  if (match === null || unit === undefined) {
    throw refuse(flag, `"${text}" is not a size`, 'Write a number with its unit: 64k, 512m or 1g.')
  }
  return whole(Number(match[1]) * unit, flag, text)
}

export function parseMebibytes(text: string, flag: string): number {
  const bytes = parseSizeBytes(text, flag)
  const mebibytes = bytes / kibibyte ** 2
  if (!Number.isInteger(mebibytes)) {
    throw refuse(
      flag,
      `"${text}" is not a whole number of MiB`,
      `Write the unit, for example ${text.replace(/\D+$/, '')}m.`,
    )
  }
  return mebibytes
}

/** `500ms`, `60s`, `2m`, `1h`, `30d`. */
export function parseDurationMs(text: string, flag: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*([a-z]+)$/i.exec(text)
  const unit = durationUnits[(match?.[2] ?? 'none').toLowerCase()]
  if (match === null || unit === undefined) {
    const example = /^\d+$/.test(text)
      ? `Write ${text}s for seconds or ${text}ms for milliseconds.`
      : 'Write 500ms, 60s, 2m, 1h or 30d.'
    throw refuse(flag, `"${text}" is not a duration`, example)
  }
  return whole(Number(match[1]) * unit, flag, text)
}

export function parseCount(text: string, flag: string): number {
  if (!/^\d+$/.test(text)) throw refuse(flag, `"${text}" is not a whole number`, 'Write digits only, for example 128.')
  return whole(Number(text), flag, text)
}

export function parseCores(text: string, flag: string): number {
  const cores = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isFinite(cores) || cores <= 0) {
    throw refuse(flag, `"${text}" is not a number of cores`, 'Write a number above zero, for example 0.5 or 2.')
  }
  return cores
}

export function formatBytes(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']
  let value = bytes
  let unit = 0
  while (value >= kibibyte && unit < units.length - 1) {
    value /= kibibyte
    unit++
  }
  return `${Number(value.toFixed(1))} ${units[unit]}`
}

export function formatMs(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  return ms < 120_000 ? `${Number((ms / 1000).toFixed(1))} s` : `${Number((ms / 60_000).toFixed(1))} min`
}

function whole(value: number, flag: string, text: string): number {
  if (!Number.isSafeInteger(value) || value <= 0) {
    throw refuse(flag, `"${text}" is out of range`, 'It must be above zero, and whole in its smallest unit.')
  }
  return value
}

const refuse = (flag: string, cause: string, hint: string): GloveboxError =>
  new GloveboxError('INVALID_INPUT', `Cannot read ${flag}: ${cause}.`, { hint })
