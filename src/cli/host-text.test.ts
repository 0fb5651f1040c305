import { describe, expect, it } from 'vitest'
import { isGloveboxError } from '../errors/error.ts'
import { parseAllowedHost, parseAllowedOrigin } from './host-text.ts'

const refusal = (act: () => unknown): string => {
  try {
    act()
  } catch (error) {
    if (isGloveboxError(error)) return `${error.code} ${error.message} ${error.hint}`
    throw error
  }
  throw new Error('it was accepted')
}

describe('an allowed host', () => {
  it.each(['sandbox.example', 'Sandbox.Example:8443', 'my_box', '10.0.0.1:80', '[::1]', '[::1]:8443'])(
    '%s is taken as it is',
    (text) => {
      expect(parseAllowedHost(text)).toBe(text)
    },
  )

  it.each([
    '',
    'a b',
    'https://sandbox.example',
    'sandbox.example/',
    '::1',
    'x:99999',
    'x:',
    '*',
    'a,b',
    'bücher.example',
  ])('%j is refused, since no caller sends it', (text) => {
    expect(refusal(() => parseAllowedHost(text))).toMatch(
      /^INVALID_INPUT Cannot read --allow-host: .*sandbox\.example:8443/,
    )
  })
})

describe('an allowed origin', () => {
  it.each(['https://console.example', 'http://localhost:5173', 'http://[::1]:8080', 'chrome-extension://abcdef'])(
    '%s is taken as it is',
    (text) => {
      expect(parseAllowedOrigin(text)).toBe(text)
    },
  )

  it.each(['', 'foo', 'console.example', 'null', '*', 'https://*.example', 'https://a b', 'https:console.example/x'])(
    '%j is refused, since no browser sends it',
    (text) => {
      expect(refusal(() => parseAllowedOrigin(text))).toMatch(/^INVALID_INPUT Cannot read --allow-origin: /)
    },
  )

  it.each([
    ['https://console.example/', 'https://console.example'],
    ['https://Console.example/app', 'https://console.example'],
    ['https://console.example:443', 'https://console.example'],
    ['https://user@console.example', 'https://console.example'],
    ['http://bücher.example', 'http://xn--bcher-kva.example'],
  ])('%s is refused, and %s is what was meant', (text, meant) => {
    expect(refusal(() => parseAllowedOrigin(text))).toMatch(new RegExp(`: ${meant}\\.$`))
    expect(parseAllowedOrigin(meant)).toBe(meant)
  })
})
