"""Stands in for the command line in a shell: `tests.forking` forks that with this one's streams.

    python -IS stand_in.py SOCKET ARGUMENT ...

Signals go on to the command line, and its exit code becomes that of this program.
"""

import array
import json
import os
import resource
import signal
import socket
import sys

PASSED_ON = (signal.SIGINT, signal.SIGTERM)


def main(path: str, *args: str) -> int:
    """Have it run; returns its exit code, as a shell has it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
    told, end = os.pipe()
    request = {
        "args": args,
        "folder": os.getcwd(),  # noqa: PTH109 - importing pathlib takes longer than all of this
        "environ": dict(os.environ),
        "files": resource.getrlimit(resource.RLIMIT_NOFILE),
    }
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as forks:
        forks.connect(path)
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", (0, 1, 2, end)))
        forks.sendmsg([json.dumps(request).encode()], [rights])
        os.close(end)
        pid = int(forks.recv(64))
    for number in PASSED_ON:
        signal.signal(number, lambda number, _frame: os.kill(pid, number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
    for stream in range(3):
        os.close(stream)  # readers see the end when the command line closes its own
    code = os.waitstatus_to_exitcode(int(os.read(told, 64)))
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
