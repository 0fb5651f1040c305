// The laws that are tried in samples elsewhere, in their long form: every bit of a log, of a run and of their heads, and overlays of many
// shapes against the kernel's own word. Usage: script/campaign tamper
import { runLongForm } from '../long-form.ts'

process.exitCode = runLongForm(['audit-tamper', 'run-tamper', 'fork-view', 'overlay-changes'])
