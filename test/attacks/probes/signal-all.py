#!/usr/bin/python3
# Sends SIGKILL to every process that can be named, but for itself, its parents and the first of the namespace, and says
# which there were. To be run inside a sandbox only: where nothing defends it is given the one process that it may end.
import os
import signal
import sys

spared = {1, os.getpid(), os.getppid(), os.getsid(0), os.getpgid(0)}
targets = [int(sys.argv[1])] if len(sys.argv) > 1 else [pid for pid in range(2, 1 << 18) if pid not in spared]
for pid in targets:
    try:
        os.kill(pid, signal.SIGKILL)
        print("KILLED")
    except OSError:
        pass
if len(sys.argv) == 1:
    try:
        os.kill(-1, signal.SIGKILL)
    except OSError:
        pass
