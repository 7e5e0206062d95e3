"""Who executes a ledger: one home on one machine at a time, numbered by generations."""

from msgspec import Struct


class Executor(Struct, frozen=True):
    """A home that runs the gangs of a ledger on its machine.

    Attributes:
        home: id of the home, kept in its folder.
        path: the folder.
        machine: id of the machine's installation; empty = the system has none.
        boot: id of the machine's present boot; empty = the system has none.
        host: name of the machine, for messages.
    """

    home: str
    path: str
    machine: str = ""
    boot: str = ""
    host: str = ""

    def __str__(self) -> str:
        """As messages name it."""
        return f"{self.path} on {self.host}" if self.host else self.path


class Term(Struct, frozen=True):
    """The time for which one home executes a ledger.

    Attributes:
        ledger: id of the ledger.
        generation: counts the terms of a ledger from 1.
        executor: the home.
        at: when it began, in ms.
        begun: when the first turn was written, in ms; None = none was.
        ended: when its processes were known to be gone, in ms; None = that is not known.
    """

    ledger: str
    generation: int
    executor: Executor
    at: int
    begun: int | None = None
    ended: int | None = None


def is_one_home(known: Executor, here: Executor) -> bool:
    """Whether both are the same home, perhaps restarted or moved.

    Two machines are distinguished only where both have an id.
    """
    return known.home == here.home and (_one_boot(known, here) or not _apart(known, here))


def may_look(known: Executor, here: Executor) -> bool:
    """Whether processes of the one can be seen by the other: one boot of one machine."""
    return _one_boot(known, here) or (not (known.boot and here.boot) and known.host == here.host)


def was_restarted(known: Executor, here: Executor) -> bool:
    """Whether the machine of the one was started anew since, so that its processes are gone.

    Machines that were made from one image may share an id: the name or the home must agree too.
    """
    one = bool(known.machine) and known.machine == here.machine
    alike = known.host == here.host or known.home == here.home
    return one and alike and bool(known.boot and here.boot) and known.boot != here.boot


def _one_boot(known: Executor, here: Executor) -> bool:
    return bool(known.boot) and known.boot == here.boot


def _apart(known: Executor, here: Executor) -> bool:
    return bool(known.machine and here.machine) and known.machine != here.machine
