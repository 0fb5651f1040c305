import { held, notThere, open, type Declared } from './declared.ts'
import { callsOnDocker, profile as defaultProfile } from './docker-calls.ts'
import { layers } from './layers.ts'
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
  blocked(
    'nothing that a command left in its container is there for the next one',
    'every place that it can write outside of the mounts is emptied after it, or the container is not used again',
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
  blocked(
    'a place below a mount that is aimed elsewhere while a container starts, and back again, is not left open',
    'what lies below another mount must be a mount of its own there before the first command is let in',
  ),
  blocked('the guest is not in the group of the daemon', "the group of the daemon's socket is never the guest's"),
]

const profile = `${defaultProfile}; gVisor does not pass it on`
const noLayers = 'the backend docker has no layers'
const killedHost = 'a warden ends the keepers, and what is left is removed at the next start'
const ofBwrap = 'it is about bwrap, its arguments or its filter'

/** By title: where docker's outcome is not the one of bwrap. */
export const onDocker: Readonly<Record<string, Declared>> = {
  ...callsOnDocker,
  ...Object.fromEntries(layers.map(({ title }) => [title, notThere(noLayers)])),
  '/sys and control groups are not there': open('Docker shows /sys, read-only, and nothing of it can be written'),
  'a guest on a terminal has a session of its own': open(
    `${defaultProfile}; the terminal is one that Docker makes inside, so whatever is typed there only the guest itself reads`,
  ),
  'a process cannot be traced': open(`${profile}; a command can trace only its own processes`),
  'io_uring is not there to pass by the filter': open(profile),
  'seldom used socket families are not there': open(`${defaultProfile}: netlink and vsock, with most versions`),
  'a path that is too long and three thousand mounts end in an error of their own': notThere(
    'Docker takes three thousand mounts',
  ),
  'a setuid file in the workspace gives nothing': held('no_new_privs alone: a mount of a container has no nosuid'),
  'set-id bits, other owners, capabilities and devices cannot be made': open(
    "set-id bits can be set on the guest's own files: Docker binds mounts without nosuid. They give the guest nothing",
  ),
  'printed words decide nothing': held('the end is told behind a mark of 128 random bits that the command is not told'),
  "a mount's host path swapped for a link after creation is not followed": held(
    'before each command the path must lead to the directory that was opened',
  ),
  'environment values are not on the command line of any process': held('they go through the pipe of the keeper'),
  'the mounts’ own descriptors and the filter’s are closed before the command runs': held('a container is given none'),
  "the guest is not root in the kernel's eyes": held(
    'a container runs as the user who started Glovebox or, started by root, as the owner of its mounts',
  ),
  'a daemon does not outlive its exec': held('a signal to all but the keeper ends what is left'),
  'no zombie is left of many execs': held('the keeper collects the dead'),
  'a host that is killed leaves nothing running': held(killedHost),
  'a host that is killed as a command starts leaves nothing running': held(killedHost),
  'what the host puts in the place of a protected name is protected from the next command on': held(
    'protected names are looked at again before each command',
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
}
