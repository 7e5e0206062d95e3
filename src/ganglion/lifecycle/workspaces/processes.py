"""Evidence of the processes of a workspace: CPU, what they read and write, who is attached.

A computation in the background shows here where kernel and GPU are quiet. What sleeps for
longer than a workspace may be idle, and is started neither by a kernel nor by a person, shows
nowhere: such programs say that they are busy.
"""

from msgspec import Struct

from ganglion.lifecycle.workspaces.observations import Sight, Witness, doubtful

CPU_MILLI = 50
"""Thousandths of a core below which all processes together do nothing: servers and kernels
that wait use 5 to 20."""
BYTES_PER_S = 100_000
"""The same for what they read and write."""


class ProcessUse(Struct, frozen=True):
    """All processes of a workspace over the time since the reading before.

    Attributes:
        at: when it was read, in ms.
        span_ms: the time it is about; 0 = it is the first reading, about none.
        cpu_milli: thousandths of cores used on average.
        bytes_per_s: bytes read and written on average, files and sockets.
    """

    at: int
    span_ms: int
    cpu_milli: int
    bytes_per_s: int = 0


class Attached(Struct, frozen=True):
    """People at its terminals and its port.

    Attributes:
        at: when it was looked, in ms.
        typed: when a key was last pressed in any of its terminals, in ms; 0 = there are none.
        connections: established connections to its port.
        listens: whether it has a port that people use and no other witness reports on.
    """

    at: int
    typed: int = 0
    connections: int = 0
    listens: bool = False


def process_sight(usage: ProcessUse | None, at: int) -> Sight:
    """What use of CPU and files amounts to.

    Args:
        usage: the reading; None = it could not be had.
        at: when it was asked for, in ms.
    """
    if usage is None:
        return doubtful(Witness.PROCESSES, at, "its processes cannot be inspected")
    if usage.cpu_milli >= CPU_MILLI:
        said = f"its processes used {usage.cpu_milli // 10} % of a core"
        return Sight(Witness.PROCESSES, usage.at, usage.at, usage.at, said=said)
    if usage.bytes_per_s >= BYTES_PER_S:
        said = f"its processes moved {usage.bytes_per_s // 1000} kB/s"
        return Sight(Witness.PROCESSES, usage.at, usage.at, usage.at, said=said)
    return Sight(Witness.PROCESSES, usage.at, usage.at - usage.span_ms)


def people_sight(attached: Attached | None, at: int, span_ms: int) -> Sight:
    """What terminals and connections amount to.

    Behind a connection a user may be reading, which cannot be seen: that is in doubt. Without a
    connection no user is there.

    Args:
        attached: what was found there; None = unknown.
        at: when it was looked, in ms.
        span_ms: time since the last look.
    """
    if attached is None:
        return doubtful(Witness.PEOPLE, at, "its terminals cannot be inspected")
    if attached.listens and attached.connections:
        return doubtful(Witness.PEOPLE, at, "a client is connected to its port")
    moved = min(attached.typed, attached.at)
    return Sight(Witness.PEOPLE, at, attached.at - span_ms, moved, said="a user typed")
