#!/usr/bin/python3
# Opens files of the kernel as a hostile guest would. Nothing is ever written: that a file opens for writing is enough.
# To be run inside a sandbox only. Prints one JSON object.
#   reach.py write PATH...   path -> "OPENED" or the error's name
#   reach.py read PATH...    the same, with one byte read
#   reach.py walk DIR        {"opened": [paths that open for writing], "refused": {error name: how many}}
import errno
import json
import os
import sys


def attempt(path, flags, reading=False):
    try:
        descriptor = os.open(path, flags | os.O_NONBLOCK)
        try:
            if reading:
                os.read(descriptor, 1)
        finally:
            os.close(descriptor)
        return "OPENED"
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error.errno))


def walk(top):
    opened, refused = [], {}
    for directory, _, names in os.walk(top):
        for name in names:
            path = os.path.join(directory, name)
            answer = attempt(path, os.O_WRONLY)
            if answer == "OPENED":
                opened.append(path)
            else:
                refused[answer] = refused.get(answer, 0) + 1
    return {"opened": opened, "refused": refused}


how, *paths = sys.argv[1:]
if how == "walk":
    print(json.dumps(walk(paths[0])))
elif how == "write":
    print(json.dumps({path: attempt(path, os.O_WRONLY) for path in paths}))
else:
    print(json.dumps({path: attempt(path, os.O_RDONLY, reading=True) for path in paths}))
