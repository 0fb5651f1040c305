// `sandbox.files`: the shape that users know from other SDKs, over the named actions.
import type { FileStat, ListResult } from '../contract/files.ts'
import type { GlobResult, GrepResult, Sandbox, SandboxFiles } from '../contract/sandbox.ts'
import { isGloveboxError } from '../errors/error.ts'

type Execute = Sandbox['execute']

export function sandboxFiles(execute: Execute): SandboxFiles {
  const ask = async <T>(name: string, input: Record<string, unknown>, signal?: AbortSignal): Promise<T> =>
    (await execute(name, present(input), signal === undefined ? {} : { signal })) as T
  return {
    read: async (path, options = {}) =>
      (await ask<{ text: string }>('read_text', { path, ...options, whole: options.startLine === undefined })).text,
    readBytes: async (path) => Buffer.from((await ask<{ base64: string }>('read_bytes', { path })).base64, 'base64'),
    async write(path, content, { append = false, expectedSha256 } = {}) {
      if (append)
        await ask(
          'append_text',
          typeof content === 'string' ? { path, text: content } : { path, base64: base64(content) },
        )
      else if (typeof content === 'string') await ask('write_text', { path, text: content, expectedSha256 })
      else await ask('write_bytes', { path, base64: base64(content), expectedSha256 })
    },
    list: (path = '.') => ask<ListResult>('list_dir', { path }),
    stat: (path) => ask<FileStat>('stat', { path }),
    async exists(path) {
      try {
        await ask('stat', { path })
        return true
      } catch (error) {
        if (isGloveboxError(error) && error.code === 'NOT_FOUND') return false
        throw error
      }
    },
    mkdir: async (path) => void (await ask('mkdir', { path })),
    remove: async (path, options = {}) => void (await ask('remove_entry', { path, ...options })),
    rename: async (from, to) => void (await ask('rename_entry', { from, to })),
    glob: (pattern, { signal, ...options } = {}) => ask<GlobResult>('glob_entries', { pattern, ...options }, signal),
    grep: (pattern, { signal, ...options } = {}) => ask<GrepResult>('grep_text', { pattern, ...options }, signal),
  }
}

const base64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')

/** An option that was given as undefined was not given. */
const present = (input: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined))
