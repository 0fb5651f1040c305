// Words that come from settings or from paths and stand on docker's command line. Each is checked for its form before it gets
// there: docker would read `--privileged` in the place of an image as a flag, and a comma in a path as the next field.
import { GloveboxError } from '../../errors/error.ts'

const host = '[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?'
const part = '[a-z0-9]+(?:(?:\\.|_{1,2}|-+)[a-z0-9]+)*'
const tag = ':[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}'
const digest = '@sha256:[0-9a-f]{64}'
const imagePattern = new RegExp(`^(?:sha256:[0-9a-f]{64}|(?:${host}/)?${part}(?:/${part})*(?:${tag})?(?:${digest})?)$`)
const runtimePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/** SECURITY: what begins with a dash is a flag to docker.
 * test/attacks/docker: "an image or a runtime that is written as a flag is refused" */
export function checkImage(text: string): string {
  if (text.length <= 512 && imagePattern.test(text)) return text
  throw new GloveboxError('INVALID_SETTINGS', 'Cannot use the image: that is not the name of a Docker image', {
    hint: 'Write it as docker does: name:tag, registry/name:tag or name@sha256:….',
  })
}

export function checkRuntime(text: string): string {
  if (runtimePattern.test(text)) return text
  throw new GloveboxError('INVALID_SETTINGS', 'Cannot use the runtime: that is not the name of a container runtime', {
    hint: 'Name one that `docker info` lists, for example runc or runsc.',
  })
}

/** Fields of one `--mount`, which docker reads as a line of comma-separated values. */
export function mountOperand(fields: readonly string[]): string {
  return fields.map(quoteField).join(',')
}

function quoteField(field: string): string {
  // Of a line break inside a value docker's reader of such lines makes another one.
  if (field.includes('\r') || field.includes('\0'))
    throw new GloveboxError('INVALID_PATH', 'Cannot mount: a path has a carriage return or a NUL byte in it', {
      hint: 'Rename the directory.',
    })
  return /[",\n]|^\s/.test(field) ? `"${field.replaceAll('"', '""')}"` : field
}
