#!/usr/bin/python3
# Tries to reach what listens outside. Each word is one attempt; prints one JSON object: word -> what came back, or the
# error's name. To be run inside a sandbox only.
#   tcp:HOST:PORT  udp:HOST:PORT  unix:PATH  abstract:NAME  name:HOST  ping:HOST  raw:HOST  resolve:HOST:PORT
import errno
import json
import os
import socket
import struct
import sys


def address(text):
    host, port = text.rsplit(":", 1)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return family, (host, int(port))


def echo(connection, words=b"hello"):
    connection.settimeout(1)
    connection.sendall(words)
    return connection.recv(100).decode("latin1")


def stream(family, where):
    with socket.socket(family, socket.SOCK_STREAM) as connection:
        connection.settimeout(1)
        connection.connect(where)
        return echo(connection)


def datagram(text, words=b"hello"):
    family, where = address(text)
    with socket.socket(family, socket.SOCK_DGRAM) as connection:
        connection.connect(where)
        return echo(connection, words)


def question(text):
    # A name carried out in a question to a name server of the attacker's choice.
    name = b"\x06secret\x07example\x03com\x00"
    return datagram(text, struct.pack(">HHHHHH", 1, 0x0100, 1, 0, 0, 0) + name + struct.pack(">HH", 1, 1))


def ping(host, kind):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    protocol = socket.IPPROTO_ICMPV6 if ":" in host else socket.IPPROTO_ICMP
    with socket.socket(family, kind, protocol) as connection:
        connection.settimeout(1)
        connection.connect((host, 0))
        connection.send(struct.pack(">BBHHH", 128 if ":" in host else 8, 0, 0xF7FF if ":" not in host else 0, 0, 0))
        connection.recv(100)
        return "ANSWERED"


def abstract(name):
    # Some programs fill the rest of the address with NULs, and then these belong to the name.
    try:
        return stream(socket.AF_UNIX, "\0" + name)
    except ConnectionRefusedError:
        return stream(socket.AF_UNIX, ("\0" + name).ljust(108, "\0"))


attempts = {
    "tcp": lambda text: stream(*address(text)),
    "udp": datagram,
    "unix": lambda path: stream(socket.AF_UNIX, path),
    "abstract": abstract,
    "name": lambda host: socket.getaddrinfo(host, 80)[0][4][0],
    "ping": lambda host: ping(host, socket.SOCK_DGRAM),
    "raw": lambda host: ping(host, socket.SOCK_RAW),
    "resolve": question,
}


def attempt(word):
    how, where = word.split(":", 1)
    try:
        return attempts[how](where)
    except socket.gaierror:
        return "UNKNOWN"
    except socket.timeout:
        return "TIMEOUT"
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))


print(json.dumps({word: attempt(word) for word in sys.argv[1:]}))
