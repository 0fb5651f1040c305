import { held, notThere, open, type Declared } from './declared.ts'
import { callsOnGvisor, ownNamespaces } from './docker-calls.ts'

const noNetwork = 'gVisor refuses to open the network at all'

/** By title: where the outcome on gVisor is not the one of docker with runc. */
export const onGvisor: Readonly<Record<string, Declared>> = {
  ...callsOnGvisor,
  'a user namespace cannot be made inside': open(ownNamespaces),
  'seldom used socket families are not there': held('its kernel has no others'),
  'a guest on a terminal has a session of its own': held('its kernel does not know the request to type'),
  'a setuid file in the workspace gives nothing': held('no program gains privileges by such a bit'),
  'a flaw of the kernel behind a call that ordinary programs need': open(
    "calls are answered by a kernel of its own, which makes few of the host's; a flaw of it, and then of one of those, is a way out",
  ),
  'with network mode full everything that the host reaches is reached': notThere(noNetwork),
  'with network mode full, abstract sockets of the host are reached': notThere(noNetwork),
  "the guest is not root in the kernel's eyes": notThere(
    "the guest is no process of the host's kernel: gVisor answers its calls",
  ),
  'a command finds no shared memory, queue or port of the one before': open(
    'gVisor tells nobody which System V objects are there, so a command may find those of the one before in the same sandbox',
  ),
  'a command cannot speak to the keeper of its container, nor in its name': open(
    "gVisor runs no program that its user may not read, so a command can write into the keeper's pipes: it may lie about its own end and run on, inside its own sandbox and for as long as that lives",
  ),
  'a source that is aimed elsewhere while a container starts is not shown to the guest': open(
    "gVisor shows other numbers of files than the host has, so there is nothing to compare: whoever can write to what leads to a mount's source could aim it elsewhere in the moment of a start",
  ),
  'a place below a mount that is aimed elsewhere while a container starts, and back again, is not left open': open(
    'gVisor shows other numbers of files than the host has, so nothing is looked at after a start',
  ),
  'a claim for another network does not get one that was made without': notThere(
    `${noNetwork}, so there is no other network to claim`,
  ),
  'a fork bomb is ended and the host stays responsive': open(
    'gVisor cannot count processes; pids is refused where it is demanded, and time and memory hold',
  ),
}
