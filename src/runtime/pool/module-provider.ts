// `use: module#Name`: a provider that the operator brings himself. It is code of the operator's side, with all his rights, so it is loaded
// only from where he said so himself (see settings.ts), and never found by a search.
import { createRequire } from 'node:module'
import { isAbsolute, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { OpenProvider, Provider } from '../../contract/provider.ts'
import { GloveboxError } from '../../errors/error.ts'
import type { PoolSettings } from '../settings.ts'

export const namesModule = (use: string | undefined): use is string => use?.includes('#') === true

export async function openModuleProvider(use: string, settings: PoolSettings): Promise<Provider> {
  const at = use.lastIndexOf('#')
  const [from, name] = [use.slice(0, at), use.slice(at + 1)]
  if (from === '' || name === '') throw refuse(use, 'it is not of the form module#Name')
  const found = (await load(from, settings.directory, use))[name]
  if (typeof found !== 'function') throw refuse(use, `the module has no function ${JSON.stringify(name)}`)
  const { directory: _, use: _use, ...given } = settings
  return checked(await opened(found as OpenProvider, given), use)
}

/** A class is made, a function is called. */
const opened = (found: OpenProvider, given: Readonly<Record<string, unknown>>): Provider | Promise<Provider> =>
  /^class\b/.test(Function.prototype.toString.call(found))
    ? (Reflect.construct(found, [given]) as Provider)
    : found(given)

async function load(from: string, directory: string, use: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return (await import(addressOf(from, directory))) as Readonly<Record<string, unknown>>
  } catch (error) {
    throw refuse(use, 'the module cannot be loaded', error instanceof Error ? error.message : String(error))
  }
}

/** A path begins at the settings file; a package is looked for as that file would import it. */
function addressOf(from: string, directory: string): string {
  if (isAbsolute(from) || from.startsWith('./') || from.startsWith('../'))
    return pathToFileURL(resolve(directory, from)).href
  try {
    return pathToFileURL(createRequire(join(directory, 'glovebox.yaml')).resolve(from)).href
  } catch {
    // A package without a door for require is found beside Glovebox, or not at all.
    return from
  }
}

const needed = ['acquire', 'get', 'release', 'destroy', 'reset', 'shutdown'] as const

function checked(provider: unknown, use: string): Provider {
  const given = typeof provider === 'object' && provider !== null ? (provider as Record<string, unknown>) : {}
  const missing = needed.filter((name) => typeof given[name] !== 'function')
  if (missing.length > 0) throw refuse(use, `what it gives is no provider: ${missing.join(', ')} is missing`)
  return provider as Provider
}

const refuse = (use: string, cause: string, operatorDetail?: string): GloveboxError =>
  new GloveboxError('INVALID_SETTINGS', `Cannot use the provider ${JSON.stringify(use.slice(0, 200))}: ${cause}`, {
    hint: 'Write pool.use as ./file.js#openMyProvider or package#openMyProvider; it is called with the settings of the pool and gives a Provider.',
    ...(operatorDetail === undefined ? {} : { operatorDetail }),
  })
