#!/usr/bin/env python3
# Makes files that would give rights to whoever uses them outside: set-id bits by every way there is, another owner,
# capabilities, device nodes. Prints one line per attempt: its name and OK or the error.
import ctypes, errno, io, os, stat, tarfile

libc = ctypes.CDLL(None, use_errno=True)

def attempt(name, action):
    try:
        said = action()
        print(name, 'OK' if said in (None, True) else said, flush=True)
    except OSError as error:
        print(name, errno.errorcode.get(error.errno, error.errno), flush=True)

def fresh(name):
    with open(name, 'w') as file:
        file.write('#!/bin/sh\nid -u\n')
    os.chmod(name, 0o755)
    return name

def has_set_id(name):
    return True if os.stat(name).st_mode & (stat.S_ISUID | stat.S_ISGID) else 'PLAIN'

def by_open():
    os.umask(0)
    os.close(os.open('set-id-open', os.O_CREAT | os.O_WRONLY, 0o4755))
    return has_set_id('set-id-open')

def by_tar():
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode='w') as archive:
        info = tarfile.TarInfo('set-id-tar')
        info.mode, info.size = 0o4755, 0
        archive.addfile(info)
    with open('archive.tar', 'wb') as file:
        file.write(buffer.getvalue())
    os.system('tar xpf archive.tar 2>/dev/null')
    return has_set_id('set-id-tar')

def by_install():
    os.system('install -m 4755 /bin/true set-id-install 2>/dev/null')
    return has_set_id('set-id-install')

def by_capability():
    # cap_setuid+ep, version 2 of the attribute.
    value = bytes.fromhex('0100000280000000000000000000000000000000')
    os.setxattr(fresh('capable'), 'security.capability', value)

attempt('chmod', lambda: os.chmod(fresh('set-id-chmod'), 0o4755))
attempt('chmod-group', lambda: os.chmod(fresh('set-id-group'), 0o2755))
attempt('open', by_open)
attempt('tar', by_tar)
attempt('install', by_install)
attempt('chown-root', lambda: os.chown(fresh('owned'), 0, 0))
attempt('chown-other', lambda: os.chown(fresh('owned-other'), 20002, 20002))
attempt('capability', by_capability)
attempt('device', lambda: os.mknod('device', stat.S_IFBLK | 0o666, os.makedev(8, 0)))
attempt('whiteout', lambda: os.mknod('whiteout', stat.S_IFCHR | 0o666, 0))
