"""Ports for programs that tests start later, which nothing takes meanwhile."""

import socket
from contextlib import suppress
from random import SystemRandom

FIRST, LAST = 10_000, 20_000
"""Systems give ports from 32,768 on to whatever connects, Ganglion gives those between to jobs."""


def unused() -> int:
    """A port that is free, as is the one after it, which a server takes for services."""
    while True:
        found = SystemRandom().randrange(FIRST, LAST, 2)
        with socket.socket() as one, socket.socket() as other, suppress(OSError):
            one.bind(("127.0.0.1", found))
            other.bind(("127.0.0.1", found + 1))
            return found
