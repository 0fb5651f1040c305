// How much of anything one request, one connection or one token may have. The operator moves them; nobody else does.
import { availableParallelism } from 'node:os'

const seconds = 1000
const kibibyte = 1024

export interface Limits {
  /** Of a JSON body, after inflating. */
  readonly jsonBytes: number
  readonly jsonDepth: number
  /** Names and values together. */
  readonly jsonEntries: number
  /** Request line without method and version. */
  readonly urlBytes: number
  readonly headerBytes: number
  /** From the first byte of a request to the end of its headers, and to the end of its body. */
  readonly headersMs: number
  readonly requestMs: number
  readonly keepAliveMs: number
  readonly connections: number
  /** Requests of one token at the same time, and its event streams. */
  readonly inFlightPerToken: number
  readonly streamsPerToken: number
  /** Of bodies that are still needed: of one token, and of all. */
  readonly bodyBytesPerToken: number
  readonly bodyBytes: number
  /** Requests of one token: so many each second, and so many at once after a rest. Requests without a token in force count for the
   * address that they come from. */
  readonly requestsPerSecond: number
  /** The same while other tokens ask for anything. */
  readonly requestsPerSecondBesideOthers: number
  readonly burst: number
  /** An idle stream says that it lives; an answer whose reader takes nothing for so long is cut off. */
  readonly heartbeatMs: number
  readonly stalledMs: number
  /** Rows of one page, whatever was asked for. */
  readonly pageRows: number
}

export const defaultLimits: Limits = {
  jsonBytes: 1024 * kibibyte,
  jsonDepth: 32,
  // More than twice what any field takes. What is made of so many keeps everybody else waiting.
  jsonEntries: 20_000,
  urlBytes: 8 * kibibyte,
  headerBytes: 16 * kibibyte,
  headersMs: 15 * seconds,
  requestMs: 120 * seconds,
  keepAliveMs: 20 * seconds,
  connections: 8192,
  inFlightPerToken: 256,
  streamsPerToken: 128,
  bodyBytesPerToken: 64 * 1024 * kibibyte,
  bodyBytes: 256 * 1024 * kibibyte,
  // What is refused must leave the server time for others, and one core answers all requests: the others do the work behind them.
  requestsPerSecond: Math.min(2000, 500 * availableParallelism()),
  requestsPerSecondBesideOthers: Math.min(500, 250 * availableParallelism()),
  burst: 256,
  heartbeatMs: 15 * seconds,
  stalledMs: 45 * seconds,
  pageRows: 100,
}
