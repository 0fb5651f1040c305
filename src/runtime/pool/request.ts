// What a member is asked for, and the first record that comes of it.
import type { SandboxId } from '../../contract/ids.ts'
import type { PolicyValues } from '../../contract/policy.ts'
import type { SandboxKey, SandboxRequest } from '../../contract/provider.ts'
import type { MountRequest } from '../mount-text.ts'
import type { LayoutName } from './layout.ts'
import type { Ending, MemberRecord } from './record.ts'

export interface MemberRequest extends SandboxRequest {
  readonly policy?: PolicyValues | undefined
  /** Where there is no key whose user it could be. */
  readonly project?: string | undefined
  readonly tokenId?: string | undefined
  readonly name?: string | undefined
  readonly metadata?: Readonly<Record<string, string>> | undefined
  readonly layout?: LayoutName | undefined
  /** Beside those of its layout and of the settings. Whoever asks has seen to it that he may. */
  readonly mounts?: readonly MountRequest[] | undefined
  /** As another member has it. */
  readonly provisioned?: MemberRecord['provisioned']
  readonly lifeMs?: number | undefined
  readonly atEnd?: Ending | undefined
  /** Begins with its files. */
  readonly snapshot?: string | undefined
  /** Nothing is started for its first command before that comes. */
  readonly isUnhurried?: boolean | undefined
}

/** What holds where a request says nothing. */
export interface MemberDefaults {
  readonly backend: string
  readonly layout: LayoutName
  readonly lifeMs: number
}

/** Whose a sandbox is that nobody's project was named for. */
const ownProject = 'default'

export function firstRecord(
  id: SandboxId,
  key: SandboxKey | null,
  request: MemberRequest,
  defaults: MemberDefaults,
): MemberRecord {
  const now = Date.now()
  const lifeMs = request.lifeMs ?? defaults.lifeMs
  return {
    version: 1,
    id,
    project: key?.user ?? request.project ?? ownProject,
    key: key?.thread ?? null,
    token_id: request.tokenId ?? '',
    name: request.name ?? null,
    metadata: { ...request.metadata },
    backend: request.backend ?? defaults.backend,
    layout: request.layout ?? defaults.layout,
    policy: request.policy ?? null,
    env: { ...request.env },
    cwd: request.cwd ?? null,
    mounts: (request.mounts ?? []).map(({ guestPath, hostPath, mode }) => ({
      guestPath,
      hostPath,
      ...(mode === undefined ? {} : { mode }),
    })),
    ...(request.provisioned === undefined ? {} : { provisioned: request.provisioned }),
    layers: [],
    snapshotting: null,
    created_at: new Date(now).toISOString(),
    expires_at: new Date(now + lifeMs).toISOString(),
    life_ms: lifeMs,
    at_end: request.atEnd ?? 'destroy',
    paused_at: null,
  }
}

export const keyOf = ({ project, key }: MemberRecord): SandboxKey | null =>
  key === null ? null : { user: project, thread: key }
