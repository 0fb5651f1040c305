// What Prometheus reads. A registry of this server's own: two servers in one process do not mix their numbers.
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'

export interface Metrics {
  readonly type: string
  answered(request: {
    readonly method: string
    readonly route: string
    readonly status: number
    readonly ms: number
  }): void
  /** Before it came to a route. */
  refused(): void
  /** Counted when somebody looks. */
  gauge(name: string, help: string, count: () => number): void
  /** As many values as the label has. */
  counts(name: string, help: string, label: string, counts: () => Readonly<Record<string, number>>): void
  text(): Promise<string>
}

export function createMetrics(): Metrics {
  const register = new Registry()
  collectDefaultMetrics({ register, prefix: 'glovebox_' })
  const requests = new Counter({
    name: 'glovebox_http_requests_total',
    help: 'Requests that were answered.',
    labelNames: ['method', 'route', 'status'],
    registers: [register],
  })
  const refusals = new Counter({
    name: 'glovebox_http_requests_refused_total',
    help: 'Requests beyond the share of their token or address, refused before they were routed.',
    registers: [register],
  })
  const duration = new Histogram({
    name: 'glovebox_http_request_duration_seconds',
    help: 'From the request to its answer; of a stream, to its beginning.',
    labelNames: ['method', 'route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30, 120],
    registers: [register],
  })
  return {
    type: register.contentType,
    answered({ method, route, status, ms }) {
      requests.inc({ method, route, status })
      duration.observe({ method, route }, ms / 1000)
    },
    refused: () => refusals.inc(),
    gauge(name, help, count) {
      const gauge: Gauge = new Gauge({ name, help, registers: [register], collect: () => gauge.set(count()) })
    },
    counts(name, help, label, counts) {
      const collect = (): void => {
        for (const [value, count] of Object.entries(counts())) gauge.set({ [label]: value }, count)
      }
      const gauge: Gauge = new Gauge({ name, help, labelNames: [label], registers: [register], collect })
    },
    text: () => register.metrics(),
  }
}
