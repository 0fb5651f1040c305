// Loaded into a process before all else: the kernel says that it was started as another one. A mount over the kernel's own file would do so, too,
// but then it lets no sandbox have a /proc of its own.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const { readFileSync } = fs
fs.readFileSync = (path, ...more) =>
  path === '/proc/sys/kernel/random/boot_id' ? `${process.env.GLOVEBOX_TEST_BOOT}\n` : readFileSync(path, ...more)
syncBuiltinESMExports()
