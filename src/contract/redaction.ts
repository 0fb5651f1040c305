// Takes the values of secrets out of whatever is shown or kept, in the forms in which programs print them. A defence against
// accidents, and no wall: a command that was granted a value can always say it in a form that nobody knows.

/** For one stream, from its first byte to its last. */
export interface Redactor {
  /** What may be passed on so far. Law: a value that is cut by the end of a chunk is redacted all the same. */
  push(chunk: Uint8Array): Uint8Array
  /** What was held back because it could have become a value. A further push begins anew. */
  end(): Uint8Array
  /** For a stream that a person watches: what is held back, where so little of a value could have begun that it tells nothing. */
  idle(): Uint8Array
}

export interface RedactorOptions {
  /** What comes out is as long as what went in: for whoever counts bytes of the source. */
  readonly sameLength?: boolean
}

/** Of one sandbox: all values that any command of it was given. They are learned as they are handed out. */
export interface Redaction {
  /** False as long as no value was handed out: there is nothing to look for then. */
  readonly isActive: boolean
  open(options?: RedactorOptions): Redactor
  bytes(bytes: Uint8Array): Uint8Array
  text(text: string): string
  /** Every text in a JSON value, names of fields too. */
  json<Value>(value: Value): Value
  /** The same error, without values in anything that it says. */
  error(error: unknown): unknown
}
