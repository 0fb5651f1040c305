// Rules for sockets and terminals: ways to talk past the network namespace and the session.
import { noneOf, oneOf, type Rule } from '../rule.ts'

const terminalRequests = {
  TIOCSTI: 0x5412,
  TIOCLINUX: 0x541c,
  TIOCSETD: 0x5423,
}

const family = { unix: 1, inet: 2, inet6: 10, netlink: 16 }
const internet = [family.inet, family.inet6]
const socketKindMask = 0xf // the rest of the type holds SOCK_CLOEXEC and SOCK_NONBLOCK
const streamAndDatagram = [1, 2]
const usualProtocols = [0, 1, 6, 17, 58] // chosen by the kernel, ICMP echo, TCP, UDP, ICMPv6 echo

export const channelRules: readonly Rule[] = [
  // SECURITY: TIOCSTI types into the operator's terminal (CVE-2017-5226), TIOCLINUX pastes there (CVE-2023-28100).
  {
    calls: ['ioctl'],
    when: [oneOf(1, [terminalRequests.TIOCSTI, terminalRequests.TIOCLINUX])],
    asking: 'TIOCSTI or TIOCLINUX',
    answer: 'EPERM',
    reason: 'they put keystrokes into a terminal that the operator may share with the guest',
    test: 'a terminal cannot be typed into, whatever the high bits of the request',
  },
  // SECURITY: setting a line discipline loads kernel modules that nobody else uses (n_gsm, n_hdlc), on any pty.
  {
    calls: ['ioctl'],
    when: [oneOf(1, [terminalRequests.TIOCSETD])],
    asking: 'TIOCSETD',
    answer: 'EPERM',
    reason: 'line disciplines are seldom used kernel code that can be loaded from any terminal',
    test: 'a line discipline cannot be set',
  },
  // SECURITY: AF_VSOCK reaches the hypervisor past the network namespace, AF_PACKET reads frames, and AF_ALG, AF_TIPC
  // and the like are kernel code that a guest does not need.
  {
    calls: ['socket'],
    when: [noneOf(0, [family.unix, family.inet, family.inet6, family.netlink])],
    asking: 'of another family than unix, inet, inet6, netlink',
    answer: 'EAFNOSUPPORT',
    reason: 'AF_VSOCK passes by the network namespace, AF_PACKET reads raw frames, others are seldom used kernel code',
    test: 'only the unix, internet and netlink socket families exist',
  },
  // SECURITY: getifaddrs needs NETLINK_ROUTE; the others lead to netfilter, audit, crypto and device events.
  {
    calls: ['socket'],
    when: [oneOf(0, [family.netlink]), noneOf(2, [0])],
    asking: 'of netlink for more than routes',
    answer: 'EPROTONOSUPPORT',
    reason: 'netfilter and audit are configured over netlink',
    test: 'netlink is there for routes only',
  },
  // SECURITY: SOCK_RAW forges packets; the kernel turns AF_INET with SOCK_PACKET into AF_PACKET.
  {
    calls: ['socket'],
    when: [oneOf(0, internet), noneOf(1, streamAndDatagram, socketKindMask)],
    asking: 'of the internet families that is neither stream nor datagram',
    answer: 'EPERM',
    reason: 'raw sockets forge packets',
    test: 'raw sockets are refused',
  },
  // SECURITY: SCTP, L2TP, MPTCP and the like load kernel modules on request.
  {
    calls: ['socket'],
    when: [oneOf(0, internet), noneOf(2, usualProtocols)],
    asking: 'of the internet families for more than TCP, UDP and ICMP echo',
    answer: 'EPROTONOSUPPORT',
    reason: 'seldom used protocols are kernel code that can be loaded by asking for a socket',
    test: 'seldom used internet protocols are refused',
  },
  // SECURITY: the second way to the code behind a socket family.
  {
    calls: ['socketpair'],
    when: [noneOf(0, [family.unix])],
    asking: 'of another family than unix',
    answer: 'EAFNOSUPPORT',
    reason: 'only unix sockets come in pairs; the rest is seldom used kernel code',
    test: 'only unix sockets come in pairs',
  },
]
