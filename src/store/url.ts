// What the text of a database URL names. A text without a scheme is a path of our own making: nobody else may put one in a URL's place.
import { GloveboxError } from '../errors/error.ts'

/** In small letters; undefined for a plain path. */
export const schemeOf = (url: string): string | undefined => /^([a-z][a-z0-9+.-]+):/i.exec(url)?.[1]?.toLowerCase()

export const isPostgres = (url: string): boolean => ['postgres', 'postgresql'].includes(schemeOf(url) ?? '')

export const unknownUrl = (): GloveboxError =>
  new GloveboxError('INVALID_SETTINGS', 'Cannot open the database: its URL is of no kind that is known', {
    hint: 'Write postgres://user@host/name, or sqlite:/path/to/file.db.',
  })
