// `glovebox doctor`: what works here, what does not, why, and the fix. It believes nothing that it has not just tried.
import { listBackends } from '../../runtime/backends-here.ts'
import { defaultBackend } from '../../runtime/create.ts'
import { loadSettings } from '../../runtime/settings.ts'
import { type BackendReport, type Check, type CheckState, examine, failedCheck } from '../doctor/examine.ts'
import { type Face, jsonLine, printable, table } from '../output.ts'
import type { Doing } from '../program.ts'

interface Selection {
  readonly selected: string
  readonly settings: Check
}

export async function doctor(flags: { readonly json?: boolean }, doing: Doing): Promise<number> {
  const { selected, settings } = await select(doing.directory)
  const reports: BackendReport[] = []
  for (const name of listBackends()) reports.push(await examine(name))
  const usable = settings.state !== 'fail' && reports.some((report) => report.name === selected && report.usable)
  const { face } = doing
  if (flags.json === true) await face.out.write(jsonLine({ selected, usable, settings, backends: reports }))
  else await face.out.write(await asText({ settings, reports, selected, usable }, face))
  return usable ? 0 : 1
}

/** The backend that `exec` would use here: the settings' choice, else the platform's own. */
async function select(directory: string): Promise<Selection> {
  try {
    const settings = await loadSettings({ directory })
    const detail = settings.path ?? 'none found; the defaults hold'
    return { selected: settings.backend ?? defaultBackend(), settings: { check: 'settings', state: 'ok', detail } }
  } catch (error) {
    return { selected: 'none', settings: failedCheck('settings', error) }
  }
}

interface Findings extends Selection {
  readonly reports: readonly BackendReport[]
  readonly usable: boolean
}

async function asText(findings: Findings, face: Face): Promise<string> {
  const { createColors } = await import('picocolors').then((module) => module.default)
  const colours = createColors(face.colour)
  const paint: Readonly<Record<CheckState, (text: string) => string>> = {
    ok: colours.green,
    warn: colours.yellow,
    fail: colours.red,
    off: colours.dim,
  }
  const checks = [findings.settings, ...findings.reports.flatMap((report) => report.checks)]
  const rows = checks.map(({ check, state, detail, fix }) => [check, state, detail, fix ?? ''].map(printable))
  const [header = '', ...lines] = table([['check', 'state', 'detail', 'fix'], ...rows])
  // Painted by line after the columns are laid out, since colour codes have a length but no width.
  const painted = lines.map((line, index) => paint[checks[index]?.state ?? 'off'](line))
  return [colours.bold(header), ...painted, '', verdict(findings), ''].join('\n')
}

function verdict({ selected, usable, reports }: Findings): string {
  if (selected === 'none') return 'Not usable: exec cannot choose a backend here. See "fix" above.'
  if (!usable) return `Not usable: ${selected} is the backend that exec would use here. See "fix" above.`
  const report = reports.find(({ name }) => name === selected)
  return report?.isolates === true
    ? `Ready: exec uses ${selected}. It shares the host's kernel: it does not protect from a fault in the kernel itself.`
    : `Ready: exec uses ${selected}, which isolates nothing.`
}
