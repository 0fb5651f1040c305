import { createRequire } from 'node:module'
import { describe, expect, it } from 'vitest'
import { packagePlaces } from './package-places.ts'

describe.skipIf(process.platform === 'win32')('where packages lie', () => {
  it('is where Node looks for them, nearest first', () => {
    const places = packagePlaces('/opt/tool/dist/cli')
    expect(places).toEqual([
      '/opt/tool/dist/cli/node_modules',
      '/opt/tool/dist/node_modules',
      '/opt/tool/node_modules',
      '/opt/node_modules',
      '/node_modules',
    ])
    const byNode = createRequire('/opt/tool/dist/cli/file.js').resolve.paths('any')
    expect(byNode?.slice(0, places.length)).toEqual(places)
  })
})
