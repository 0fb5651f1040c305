// What a store tells of itself, to whoever asks whether it works.

export interface StoreHealth {
  readonly kind: 'sqlite' | 'postgres'
  /** Of the engine. */
  readonly version: string
  readonly schema: number
  readonly latencyMs: number
}
