// A refusal as a value, so that an agent, a record and a person read the same truth.
export const denialKinds = ['file.read', 'file.write', 'network', 'policy', 'process'] as const
export type DenialKind = (typeof denialKinds)[number]

export interface Denial {
  readonly backend: string
  readonly kind: DenialKind
  /** What was refused, in the guest's words: a guest path, a host name, a policy field. */
  readonly subject: string
  /** The rule that refused, for example `protected:.git/hooks` or `network.mode=none`. */
  readonly rule: string
  readonly reason: string
  /** `decided`: Glovebox refused it. `observed`: the kernel did, and the command's error output told. */
  readonly evidence: 'decided' | 'observed'
}
