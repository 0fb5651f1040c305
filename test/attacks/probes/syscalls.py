#!/usr/bin/python3
# What a hostile guest would try from Python, without a compiler. Prints one JSON object: attempt -> "OK" or error name.
# To be run inside a sandbox only.
import errno
import fcntl
import io
import json
import os
import pty
import socket
import stat
import tarfile


def attempt(action):
    try:
        action()
        return "OK"
    except OSError as error:
        return errno.errorcode[error.errno]


def copy_of_su():
    with open("su", "wb") as out:
        out.write(b"#!/bin/sh\n")
    os.chmod("su", 0o4755)


def type_into_terminal():
    child, master = pty.fork()
    if child == 0:
        try:
            fcntl.ioctl(0, 0x5412, b"x")
        except OSError as error:
            os._exit(error.errno)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(master)
    if code:
        raise OSError(code, "refused")


def unpack_set_id_member():
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        member = tarfile.TarInfo("unpacked")
        member.mode = 0o4755
        archive.addfile(member, io.BytesIO())
    packed.seek(0)
    with tarfile.open(fileobj=packed) as archive:
        # The safe filter of newer versions would drop the bit; a hostile guest asks for the trusting one.
        trusting = {"filter": "fully_trusted"} if hasattr(tarfile, "fully_trusted_filter") else {}
        archive.extractall(**trusting)


def unpacked():
    # Some versions report the refused mode as an error and some do not; what counts is what lies on the disk.
    try:
        unpack_set_id_member()
    except (OSError, tarfile.TarError):
        pass
    return "SET-ID" if os.stat("unpacked").st_mode & 0o6000 else "PLAIN"


os.umask(0)
print(
    json.dumps(
        {
            "chmod": attempt(copy_of_su),
            "tar": unpacked(),
            "device": attempt(lambda: os.mknod("dev", stat.S_IFCHR | 0o600, os.makedev(0, 0))),
            "terminal": attempt(type_into_terminal),
            "packet": attempt(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW)),
            "netfilter": attempt(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)),
        }
    )
)
