// A disk that remembers. A filesystem of one directory with two files, spoken straight over /dev/fuse: `disk` holds the
// bytes of a block device, `answers` holds nothing. Whatever arrives (a write to the disk, a flush of it, a line for
// `answers`) goes into one log in the order of arrival. Since one thread serves all of it, an answer stands behind
// everything that its writer waited for, and the log tells for every moment what a disk may have kept if power had failed.
// Arguments: where to mount, the image to begin with, the log. Runs inside a mount namespace of its own.
import { spawnSync } from 'node:child_process'
import { openSync, readFileSync, readSync, writeSync } from 'node:fs'

const [, , place, image, logPath] = process.argv
const disk = readFileSync(image)
const log = openSync(logPath, 'w')
const startedAt = performance.now()

export const kinds = { write: 1, flush: 2, answer: 3 }
const headBytes = 24

/** Kind, milliseconds, offset, length; then the bytes. */
function record(kind, offset, bytes) {
  const head = Buffer.alloc(headBytes)
  head.writeUInt32LE(kind, 0)
  head.writeDoubleLE(performance.now() - startedAt, 4)
  head.writeUIntLE(offset, 12, 6)
  head.writeUInt32LE(bytes.length, 20)
  writeSync(log, Buffer.concat([head, bytes]))
}

const nodes = { root: 1n, disk: 2n, answers: 3n }
const opcode = { lookup: 1, forget: 2, getattr: 3, setattr: 4, open: 14, read: 15, write: 16, statfs: 17, release: 18 }
const moreOpcodes = {
  fsync: 20,
  flush: 25,
  init: 26,
  opendir: 27,
  releasedir: 29,
  access: 34,
  interrupt: 36,
  destroy: 38,
}
const op = { ...opcode, ...moreOpcodes, batchForget: 42, fallocate: 43 }
const errno = { ENOENT: 2, ENOSYS: 38, EOPNOTSUPP: 95 }
const maxWrite = 1024 * 1024
const directIo = 1
const maxPagesFlag = 1 << 22

function attributes(node) {
  const out = Buffer.alloc(88)
  const isDirectory = node === nodes.root
  out.writeBigUInt64LE(node, 0)
  out.writeBigUInt64LE(BigInt(node === nodes.disk ? disk.length : 0), 8)
  out.writeUInt32LE(isDirectory ? 0o40700 : 0o100600, 60)
  out.writeUInt32LE(1, 64)
  out.writeUInt32LE(4096, 80)
  return out
}

const entry = (node) => {
  const out = Buffer.alloc(40)
  out.writeBigUInt64LE(node, 0)
  return Buffer.concat([out, attributes(node)])
}

const initialised = (body) => {
  const out = Buffer.alloc(64)
  out.writeUInt32LE(7, 0)
  out.writeUInt32LE(31, 4)
  out.writeUInt32LE(body.readUInt32LE(8), 8)
  out.writeUInt32LE(maxPagesFlag, 12)
  out.writeUInt16LE(16, 16)
  out.writeUInt16LE(12, 18)
  out.writeUInt32LE(maxWrite, 20)
  out.writeUInt32LE(1, 24)
  out.writeUInt16LE(maxWrite / 4096, 28)
  return out
}

const opened = () => {
  const out = Buffer.alloc(16)
  // Nothing of ours may wait in the kernel's page cache: what the block layer has written must be here.
  out.writeUInt32LE(directIo, 8)
  return out
}

function written(node, body) {
  const [offset, size] = [Number(body.readBigUInt64LE(8)), body.readUInt32LE(16)]
  const bytes = body.subarray(40, 40 + size)
  if (node === nodes.disk) bytes.copy(disk, offset)
  record(node === nodes.disk ? kinds.write : kinds.answer, node === nodes.disk ? offset : 0, bytes)
  const out = Buffer.alloc(8)
  out.writeUInt32LE(size, 0)
  return out
}

function flushed(node) {
  if (node === nodes.disk) record(kinds.flush, 0, Buffer.alloc(0))
  return Buffer.alloc(0)
}

const silent = new Set([op.forget, op.batchForget, op.interrupt])

/** The answer's body, or the number of an error. */
function serve(code, node, body) {
  switch (code) {
    case op.init:
      return initialised(body)
    case op.lookup: {
      const found = nodes[body.subarray(0, body.indexOf(0)).toString()]
      return found === undefined || found === nodes.root ? errno.ENOENT : entry(found)
    }
    case op.getattr:
    case op.setattr:
      return Buffer.concat([Buffer.alloc(16), attributes(node)])
    case op.open:
    case op.opendir:
      return opened()
    case op.read: {
      const offset = Number(body.readBigUInt64LE(8))
      return node === nodes.disk ? disk.subarray(offset, offset + body.readUInt32LE(16)) : Buffer.alloc(0)
    }
    case op.write:
      return written(node, body)
    case op.fsync:
      return flushed(node)
    case op.statfs:
      return Buffer.alloc(80)
    case op.fallocate:
      return errno.EOPNOTSUPP
    case op.flush:
    case op.release:
    case op.releasedir:
    case op.access:
    case op.destroy:
      return Buffer.alloc(0)
    default:
      return errno.ENOSYS
  }
}

const device = openSync('/dev/fuse', 'r+')
const options = 'fd=3,rootmode=40000,user_id=0,group_id=0'
const mounted = spawnSync('mount', ['-i', '-t', 'fuse', '-o', options, 'glovebox-disk', place], {
  stdio: ['ignore', 'inherit', 'inherit', device],
})
if (mounted.status !== 0) process.exit(1)
writeSync(1, 'ready\n')

const request = Buffer.alloc(maxWrite + 4096)
for (;;) {
  let count
  try {
    count = readSync(device, request, 0, request.length, null)
  } catch (error) {
    if (error.code === 'ENODEV') break
    // The request was taken back before we came to it.
    if (error.code === 'ENOENT' || error.code === 'EINTR') continue
    throw error
  }
  const [code, unique, node] = [request.readUInt32LE(4), request.readBigUInt64LE(8), request.readBigUInt64LE(16)]
  if (silent.has(code)) continue
  const answer = serve(code, node, request.subarray(40, count))
  const body = typeof answer === 'number' ? Buffer.alloc(0) : answer
  const head = Buffer.alloc(16)
  head.writeUInt32LE(16 + body.length, 0)
  head.writeInt32LE(typeof answer === 'number' ? -answer : 0, 4)
  head.writeBigUInt64LE(unique, 8)
  try {
    writeSync(device, Buffer.concat([head, body]))
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
}
