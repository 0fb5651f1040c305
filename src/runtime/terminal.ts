// What the operator's environment says about printing. Here because only this room reads process.env.

/** The convention of no-color.org: any value but the empty one switches colour off. */
export function colourRefused(environment: Readonly<Record<string, string | undefined>> = process.env): boolean {
  return (environment['NO_COLOR'] ?? '') !== '' || environment['TERM'] === 'dumb'
}
