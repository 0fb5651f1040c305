import { describe, expect, it } from 'vitest'
import { refuseOldEngine } from './connection.ts'

describe('the version of SQLite', () => {
  it.each(['3.51.3', '3.51.4', '3.51.10', '3.52.0', '3.53.0', '4.0.0'])('%s is good enough', (version) => {
    expect(() => refuseOldEngine(version)).not.toThrow()
  })

  it.each(['3.51.2', '3.51.1', '3.50.9', '3.9.99', '2.99.99', 'unknown', ''])('%j is refused', (version) => {
    expect(() => refuseOldEngine(version)).toThrow(expect.objectContaining({ code: 'STORE_INCOMPATIBLE' }))
  })
})
