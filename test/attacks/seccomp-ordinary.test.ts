// The filter must cost ordinary programs nothing: what an agent uses daily runs under it, in the bwrap of the attacks.
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { rgPath } from '@vscode/ripgrep'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openFilteredBwrap, type FilteredBwrap } from './seccomp-bwrap.ts'

let bwrap: FilteredBwrap

beforeAll(() => {
  bwrap = openFilteredBwrap()
  copyFileSync(process.execPath, join(bwrap.probeDir, 'node'))
  copyFileSync(rgPath, join(bwrap.probeDir, 'rg'))
})

afterAll(() => bwrap[Symbol.dispose]())

const ordinary: Readonly<Record<string, string>> = {
  bash: 'set -e; (exit 3) || test $? = 3; for i in 1 2 3; do sleep 0.01 & done; wait; test "$(seq 3 | wc -l)" = 3; echo <(true)',
  'python threads': `python3 -c 'import threading as t; a=[t.Thread(target=print,args=(i,)) for i in range(4)]; [x.start() for x in a]; [x.join() for x in a]'`,
  'python subprocess': `python3 -c 'import subprocess as s; assert s.run(["echo","x"],capture_output=True,check=True).stdout==b"x\\n"'`,
  'python asyncio': `python3 -c '
import asyncio
async def main():
    child = await asyncio.create_subprocess_exec("echo", "x", stdout=asyncio.subprocess.PIPE)
    assert (await child.communicate())[0] == b"x\\n"
    server = await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    assert await reader.read() == b""
asyncio.run(main())'`,
  'python multiprocessing': `python3 -c '
import multiprocessing as m
if __name__ == "__main__":
    with m.get_context("fork").Pool(2) as pool: assert pool.map(abs, [-1, -2]) == [1, 2]'`,
  'node with workers, children, sockets and interfaces': `/probes/node -e '
const { Worker } = require("node:worker_threads"), { execFileSync } = require("node:child_process")
const net = require("node:net"), fs = require("node:fs"), os = require("node:os")
if (!("lo" in os.networkInterfaces())) throw new Error("no interfaces")
if (execFileSync("echo", ["x"]).toString() !== "x\\n") throw new Error("no child")
fs.writeFileSync("n", "x"); fs.chmodSync("n", 0o755); fs.cpSync("n", "m")
new Worker("0", { eval: true }).on("exit", (code) => { if (code) throw new Error("no worker") })
const server = net.createServer((s) => s.end()).listen(0, "127.0.0.1", () =>
  net.connect(server.address().port, "127.0.0.1").on("close", () => server.close()).resume())'`,
  git: 'set -e; git init -q r; cd r; echo x >f; git add f; git -c user.name=a -c user.email=a@b commit -qm m; git gc -q; git clone -q . ../c; git -C ../c fsck',
  gcc: `set -e; printf '#include <pthread.h>\\nint main(void){return 0;}' >a.c; gcc -O2 -pthread -o a a.c; ./a`,
  curl: 'curl --version; curl -s http://127.0.0.1:1/; test $? = 7',
  'tar and cp':
    'set -e; mkdir d; echo x >d/f; chmod 1755 d; tar cf d.tar d; mkdir o; tar xpf d.tar -C o; cp -a d e; cp -r d g; cmp o/d/f e/f',
  'copies of set-id programs':
    'set -e; cp /usr/bin/passwd p; test ! -u p; install -m 755 /usr/bin/passwd q; test ! -u q',
  rg: 'set -e; mkdir d; for i in $(seq 200); do echo needle $i >d/$i; done; test "$(/probes/rg needle d | wc -l)" = 200',
}

describe('under the seccomp filter ordinary programs work', () => {
  it.each(Object.entries(ordinary))('%s', (_, script) => {
    const { status, stderr } = bwrap.run(['/bin/bash', '-c', script], { filter: true })
    expect({ status, stderr }).toEqual({ status: 0, stderr: expect.not.stringContaining('not permitted') })
  })
})
