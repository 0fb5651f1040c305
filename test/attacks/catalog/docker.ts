import { notThere, open, type Declared } from './declared.ts'
import type { AttackRow } from './row.ts'

const blocked = (title: string, defence: string, more: Partial<AttackRow> = {}): AttackRow => ({
  area: 'docker',
  title,
  defence,
  bwrap: 'does not apply',
  local: 'does not apply',
  docker: 'blocked',
  ...more,
})

/** Attacks on what only this backend has: a daemon, its command line, images and containers that outlive a command. */
export const docker: readonly AttackRow[] = [
  blocked(
    'an image or a runtime that is written as a flag is refused',
    'checked for its form, and `--` before the image',
  ),
  blocked('a docker earlier in PATH is not used', 'looked for in fixed places that only root can change'),
  blocked(
    "a secret of the operator's environment reaches neither docker nor the container",
    'docker gets an allow-list of its own variables, the container none',
  ),
  blocked(
    'a command cannot speak to the keeper of its container, nor in its name',
    'the keeper runs from a program that cannot be read, so the kernel hides its memory and descriptors',
  ),
  blocked(
    'nothing that a command started outlives it in its container',
    'a container runs one command at a time; a signal to all but its first process ends what is left',
  ),
  blocked('what a command prints is kept nowhere by Docker', 'containers have no log'),
  blocked(
    'a mount below a read-only one is not left writable',
    'refused where Docker would make only the topmost mount read-only',
  ),
  blocked(
    'a container of another installation is neither listed nor removed',
    'containers carry the name of their installation',
  ),
  blocked(
    'a source that is aimed elsewhere while a container starts is not shown to the guest',
    'what a new container shows is compared, inode by inode, with what was meant',
  ),
  blocked('the guest is not in the group of the daemon', "the group of the daemon's socket is never the guest's"),
]

const profile = "Docker's default seccomp profile lets it through; gVisor does not pass it on"
const forRoot = 'as root, a container is refused where it could not run as the owner of its mounts'
const ofBwrap = 'it is about bwrap, its arguments or its filter'

/** By title: where docker's outcome is not the one of bwrap. */
export const onDocker: Readonly<Record<string, Declared>> = {
  '/sys and control groups are not there': open('Docker shows /sys, read-only, and nothing of it can be written'),
  'a guest on a terminal has a session of its own': open(
    `${profile}; the terminal is one that Docker makes inside, so whatever is typed there only the guest itself reads`,
  ),
  'a process cannot be traced': open(`${profile}; a command can trace only its own processes`),
  'io_uring is not there to pass by the filter': open(profile),
  'seldom used socket families are not there': open(`${profile}; netlink and vsock are there with most versions`),
  'mounts can be neither peeled off nor laid': notThere(
    'every call is refused, but by another filter with another error; the effect is part of conformance',
  ),
  'a user namespace cannot be made inside': notThere(
    'the probe needs bwrap inside; that unshare is refused is part of conformance',
  ),
  'a path that is too long and three thousand mounts end in an error of their own': notThere(
    'Docker takes three thousand mounts',
  ),
  'set-id bits, other owners, capabilities and devices cannot be made': open(
    "set-id bits can be set on the guest's own files: Docker binds mounts without nosuid. They give the guest nothing",
  ),
  'a setuid file in the workspace gives nothing': notThere(
    'no_new_privs holds, and is part of conformance; the mount itself has no nosuid',
  ),
  'the first process cannot be made to outlive the host': notThere(
    'its first process is not tied to the host by a parent',
  ),
  'a command cannot speak to the keeper of its cell, nor in its name': notThere('see the same of its container'),
  'a bwrap earlier in PATH is not used': notThere(ofBwrap),
  'a bwrap that is setuid or that others can change is not used': notThere(ofBwrap),
  'a setuid bwrap is refused': notThere(ofBwrap),
  "a variable of the guest's choice does not reach the gate": notThere(ofBwrap),
  "the operator's own preloaded library is not loaded by bwrap or in the guest": notThere(ofBwrap),
  'options of bwrap in arguments, names and variables stay plain text': notThere(ofBwrap),
  'a command is never read as an option of bwrap': notThere(ofBwrap),
  "started by root, a file action reaches no more than the mount's owner may": notThere(forRoot),
}
