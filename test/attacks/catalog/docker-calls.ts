// The system calls of catalog/seccomp.ts, as a container answers them: Docker's default profile where the kernel is the host's, and gVisor's
// own kernel. As measured; where another version refuses more, that is all the better.
import { held, notThere, open, type Declared } from './declared.ts'

export const profile = "Docker's default seccomp profile lets it through"
const ofGvisor = 'its own kernel answers it'
const unknown = 'its kernel knows no such thing'
export const ownNamespaces = 'its kernel makes namespaces of its own, in which nothing of the host is reached'
const ownSetId = 'a guest can set such bits on its own files; they give it nothing, since no program gains privileges'
const ownTerminal = `${profile}; a guest has no terminal but its own`

export const callsOnDocker: Readonly<Record<string, Declared>> = {
  'calls of another architecture end the process': open(`${profile}, for 32-bit programs`),
  'calls of the x32 interface end the process': held('refused as unknown; the process goes on'),
  'a file cannot be created with a set-id bit': open(ownSetId),
  'openat2 is not there, so its struct cannot carry a set-id mode': open(ownSetId),
  'a file cannot be given a set-id bit': open(ownSetId),
  'a node cannot be made with a set-id bit': open(ownSetId),
  'a device node cannot be made': open(
    'the kernel lets everybody make the node 0:0, which stands for no device; others take a capability',
  ),
  'a terminal cannot be typed into, whatever the high bits of the request': open(ownTerminal),
  'a line discipline cannot be set': open(ownTerminal),
  'only the unix, internet and netlink socket families exist': open(`${profile}: vsock, with most versions`),
  'netlink is there for routes only': open(profile),
  'seldom used internet protocols are refused': open(profile),
  'the calls that trace and read other processes are refused': open(
    `${profile}: ptrace, with which a command can trace only its own processes`,
  ),
  'io_uring is not there': open(`${profile}, with most versions`),
  'hardware ports and segment tables are refused': open(
    `${profile}: modify_ldt, which changes only the process that calls it`,
  ),
  'the machine cannot be administered': open(
    "the clock's adjustment can be asked for; to change it, and all else, is refused",
  ),
  'the filter holds against a guest that writes Python': open(`${profile}: all that is open above, from Python too`),
}

export const callsOnGvisor: Readonly<Record<string, Declared>> = {
  'calls of another architecture end the process': open(`${ofGvisor}, and ends nobody for it`),
  'openat2 is not there, so its struct cannot carry a set-id mode': held(unknown),
  'a device node cannot be made': open(
    'its kernel makes nodes in file systems of its own; none of them leads to a device of the host',
  ),
  'a terminal cannot be typed into, whatever the high bits of the request': held(unknown),
  'a line discipline cannot be set': held(unknown),
  'only the unix, internet and netlink socket families exist': held(unknown),
  'netlink is there for routes only': held(unknown),
  'seldom used internet protocols are refused': held(unknown),
  'a new namespace is refused': open(ownNamespaces),
  'the calls that trace and read other processes are refused': open(
    `${ofGvisor}: ptrace, with which a command can trace only its own processes`,
  ),
  'io_uring is not there': open(ofGvisor),
  'hardware ports and segment tables are refused': held('its kernel refuses them'),
  'the machine cannot be administered': held('its kernel refuses it'),
  'the filter holds the first process of the namespace too': notThere('it filters no calls, but answers them'),
  'the filter holds against a guest that writes Python': open(ownSetId),
}
