#!/usr/bin/python3
# Looks for a terminal among the standard streams and behind /dev/tty, and types into it what its owner did not.
# To be run inside a sandbox only. Prints one JSON object: where -> "TYPED", or the error's name.
import errno
import fcntl
import json
import os

TIOCSTI = 0x5412


def type_into(where):
    try:
        descriptor = where if isinstance(where, int) else os.open(where, os.O_RDWR)
        fcntl.ioctl(descriptor, TIOCSTI, b"#")
        return "TYPED"
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error.errno))


def opens(path):
    try:
        os.close(os.open(path, os.O_RDWR))
        return "OPENED"
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error.errno))


print(json.dumps({
    "streams": [os.isatty(number) for number in range(3)],
    "typed": [type_into(0), type_into(1), type_into(2), type_into("/dev/tty")],
    "terminal": opens("/dev/tty"),
}))
