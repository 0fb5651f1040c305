// A clock that only goes forward. Node's `performance` is one, but loads a dozen modules at its first use, which takes a short
// command longer than all that it notes.
export function nowMs(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1000 + nanoseconds / 1e6
}
