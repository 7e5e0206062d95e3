"""Doing something as another user; only root can."""

import os
from collections.abc import Callable

import pytest

UID = 12_345

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")


def as_another_user(deed: Callable[[], bool]) -> bool:
    """What a function returns in a process of user `UID`; False if it raises."""
    pid = os.fork()
    if pid == 0:
        done = False
        try:
            os.setuid(UID)
            done = deed()
        finally:
            os._exit(not done)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
