// The table of what a guest may not ask of the kernel. Whatever is not named here is allowed, save calls that are
// newer than the table (see filter.ts). Calls whose arguments are read come first: since Linux 5.11 the kernel
// remembers which calls are always allowed, so that mostly these run the filter, and openat is the most frequent.
//
// Left allowed on purpose: mkdir with set-id bits (the kernel drops them, and cp -r of a set-group-id directory passes
// them), name_to_handle_at (a handle is of no use without open_by_handle_at), statmount and listmount (they tell what
// /proc/self/mountinfo tells), seccomp and landlock (a guest may bind itself further).
import type { Rule } from './rule.ts'
import { channelRules } from './rules/channels.ts'
import { fileRules } from './rules/files.ts'
import { kernelRules } from './rules/kernel.ts'
import { processRules } from './rules/processes.ts'

export const rules: readonly Rule[] = [...fileRules, ...channelRules, ...processRules, ...kernelRules]
