import { expect, it } from 'vitest'
import { queuesIn } from './deliveries.ts'

it('what waits on a socket is read from the table of the kernel', () => {
  const table = [
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
    '   0: 0100007F:8F1F 0100007F:C350 01 0000002A:00000000 01:00000014 00000003  1000        0 4242 2 0000000000000000 20 4 30 10 -1',
    '   1: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 17 1 0000000000000000 100 0 0 10 0',
    '',
  ].join('\n')
  expect(queuesIn(table)).toEqual([
    ['4242', 42],
    ['17', 0],
  ])
})
