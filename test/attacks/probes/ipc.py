#!/usr/bin/python3
# Shared memory, queues and semaphores by key or name. Prints one JSON object. Only "look" is the attack.
#   ipc.py make KEY NAME    makes a segment with the key and a message queue with the name
#   ipc.py look KEY NAME    tries to find and read them: "canary", or the error's name
#   ipc.py drop KEY NAME    removes them
import ctypes
import errno
import json
import os
import sys

libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
# Before glibc 2.34 queues have a library of their own.
queues = libc if hasattr(libc, "mq_open") else ctypes.CDLL("librt.so.1", use_errno=True)
IPC_CREAT, IPC_RMID, READ_ONLY = 0o1000, 0, 0o10000


class Attributes(ctypes.Structure):
    _fields_ = [("flags", ctypes.c_long), ("maxmsg", ctypes.c_long), ("msgsize", ctypes.c_long), ("rest", ctypes.c_long * 5)]


def failed():
    return errno.errorcode.get(ctypes.get_errno(), "?")


def segment(how, key):
    found = libc.shmget(key, 4096, (IPC_CREAT | 0o666) if how == "make" else 0)
    if found < 0:
        return failed()
    if how == "drop":
        libc.shmctl(found, IPC_RMID, None)
        return "dropped"
    place = libc.shmat(found, None, 0 if how == "make" else READ_ONLY)
    if place == ctypes.c_void_p(-1).value:
        return failed()
    if how == "make":
        ctypes.memmove(place, b"canary\0", 7)
    return ctypes.string_at(place).decode()


def queue(how, name):
    if how == "drop":
        return failed() if queues.mq_unlink(name) < 0 else "dropped"
    attributes = Attributes(0, 2, 64)
    flags = (os.O_RDWR | os.O_CREAT) if how == "make" else (os.O_RDONLY | os.O_NONBLOCK)
    os.umask(0)
    opened = queues.mq_open(name, flags, 0o666, ctypes.byref(attributes))
    if opened < 0:
        return failed()
    if how == "make":
        for _ in range(2):
            queues.mq_send(opened, b"canary", 6, 0)
        return "canary"
    text = ctypes.create_string_buffer(64)
    length = queues.mq_receive(opened, text, 64, None)
    return failed() if length < 0 else text.raw[:length].decode()


how, key, name = sys.argv[1:]
print(json.dumps({"segment": segment(how, int(key)), "queue": queue(how, name.encode())}))
