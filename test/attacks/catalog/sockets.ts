import { rowsOf, type AttackRow } from './row.ts'

const { blocked, open } = rowsOf('sockets')
export const sockets: readonly AttackRow[] = [
  blocked(
    'a socket of the host is not there to connect to',
    'an allow-listed root without /run, /var and the host’s /tmp',
    {
      seen: 'greywall #55, kilocode #11650, nono #781, landrun #43',
    },
  ),
  blocked('an abstract socket of the host is not reached', 'a network namespace of its own', { seen: 'X11' }),
  blocked('agents, buses and displays of the operator are not named inside', 'the environment is an allow-list', {
    seen: 'ssh-agent, gpg-agent, D-Bus, X11, Wayland',
  }),
  blocked('shared memory and queues of the host are not there', 'an ipc namespace, and a /dev/shm of its own'),
  open(
    'a socket that lies in a mounted directory is connected to',
    'A mount hands over what is in it, and neither a read-only mount nor a namespace keeps connect() from a socket file. Do not mount a directory with sockets of daemons.',
    { seen: 'nono #781' },
  ),
  open(
    'with network mode full, abstract sockets of the host are reached',
    'They belong to the network namespace, which that mode shares with the host.',
  ),
]
