// SQLite's write-ahead log by its file format alone (sqlite.org/fileformat2.html#walformat): a header of 32 bytes, then frames, each a header of
// 24 bytes and one page. A transaction ends with a frame that tells how large the database is then; what stands behind the last such frame
// was never committed.
const headerBytes = 32
const frameHeaderBytes = 24

export interface Frame {
  /** Offsets in the file. */
  readonly begin: number
  readonly end: number
  readonly isCommit: boolean
}

/** Those of the present log: behind them may stand some of an earlier one, which have other salts. */
export function framesIn(log: Buffer): readonly Frame[] {
  const pageBytes = log.readUInt32BE(8)
  const salts = log.subarray(16, 24)
  const frames: Frame[] = []
  for (let begin = headerBytes; ;) {
    const end = begin + frameHeaderBytes + pageBytes
    if (end > log.length || !log.subarray(begin + 8, begin + 16).equals(salts)) return frames
    frames.push({ begin, end, isCommit: log.readUInt32BE(begin + 4) !== 0 })
    begin = end
  }
}

/** Where the last transaction ends of which nothing is at this offset or behind it. */
export const committedBefore = (frames: readonly Frame[], offset: number): number =>
  frames.findLast(({ end, isCommit }) => isCommit && end <= offset)?.end ?? headerBytes
