// `sandbox.files` from afar: the same named actions that the library performs, with the same answers and refusals.
import type { FileStat, ListResult } from '../contract/files.ts'
import type { GlobResult, GrepResult, SandboxFiles } from '../contract/sandbox.ts'
import { isGloveboxError } from '../errors/error.ts'
import { fromBase64, toBase64 } from './base64.ts'

export interface ActionOptions {
  readonly signal?: AbortSignal | undefined
  /** It only reads, and may be asked again after a broken connection. */
  readonly reads?: boolean
}

export type Perform = (name: string, input: unknown, options: ActionOptions) => Promise<unknown>

export function remoteFiles(perform: Perform): SandboxFiles {
  const read = async <T>(name: string, input: Record<string, unknown>, signal?: AbortSignal): Promise<T> =>
    (await perform(name, input, { reads: true, signal })) as T
  const change = async (name: string, input: Record<string, unknown>): Promise<void> =>
    void (await perform(name, input, {}))
  return {
    read: async (path, options = {}) =>
      (await read<{ text: string }>('read_text', { path, ...options, whole: options.startLine === undefined })).text,
    readBytes: async (path) => fromBase64((await read<{ base64: string }>('read_bytes', { path })).base64),
    write(path, content, { append = false, expectedSha256 } = {}) {
      const carried = typeof content === 'string' ? { text: content } : { base64: toBase64(content) }
      if (append) return change('append_text', { path, ...carried })
      return change(typeof content === 'string' ? 'write_text' : 'write_bytes', { path, ...carried, expectedSha256 })
    },
    list: (path = '.') => read<ListResult>('list_dir', { path }),
    stat: (path) => read<FileStat>('stat', { path }),
    async exists(path) {
      try {
        await read('stat', { path })
        return true
      } catch (error) {
        if (isGloveboxError(error) && error.code === 'NOT_FOUND') return false
        throw error
      }
    },
    mkdir: (path) => change('mkdir', { path }),
    remove: (path, options = {}) => change('remove_entry', { path, ...options }),
    rename: (from, to) => change('rename_entry', { from, to }),
    glob: (pattern, { signal, ...options } = {}) => read<GlobResult>('glob_entries', { pattern, ...options }, signal),
    grep: (pattern, { signal, ...options } = {}) => read<GrepResult>('grep_text', { pattern, ...options }, signal),
  }
}
