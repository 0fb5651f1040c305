import { rowsOf, type AttackRow } from './row.ts'

const { blocked, open } = rowsOf('network')
export const network: readonly AttackRow[] = [
  blocked(
    "with mode none nothing is reached, not even the host's loopback",
    'a network namespace with a loopback of its own',
  ),
  blocked('datagrams, ICMP and raw packets do not leave', 'the namespace has no route; raw sockets are refused', {
    seen: 'nono #909',
  }),
  blocked('addresses of clouds and of the wider network have no route', 'the namespace has no route'),
  blocked('no question reaches a name server', 'the namespace has no route', {
    seen: 'CVE-2025-55284, OpenShell #1169',
  }),
  blocked('the environment does not open the network', 'the namespace is the boundary, not variables'),
  blocked('a request cannot open the network', 'the ceiling is moved by the operator alone'),
  blocked('an empty allow-list denies everything', 'empty means deny; what cannot be enforced is refused', {
    seen: 'CVE-2025-66479',
  }),
  blocked('a host name with a NUL is refused', 'rules are printable ASCII without spaces', {
    local: 'blocked',
    seen: 'srt, OpenShell #1498',
  }),
  open(
    'with network mode full everything that the host reaches is reached',
    'That mode is the host’s own network, with its loopback and metadata addresses. Only the operator can allow it.',
  ),
]
