"""All that a server asks of its machine, in one value that its parts are given from."""

from typing import NamedTuple

from ganglion.seams.clock import SYSTEM_CLOCK, Clock
from ganglion.seams.connections import SYSTEM_CONNECTIONS, Connections
from ganglion.seams.files import SYSTEM_FILES, Files
from ganglion.seams.processes import SYSTEM_PROCESSES, Processes
from ganglion.seams.randomness import SYSTEM_RANDOMNESS, Randomness


class Effects(NamedTuple):
    """The real ones, unless others are given."""

    clock: Clock = SYSTEM_CLOCK
    randomness: Randomness = SYSTEM_RANDOMNESS
    files: Files = SYSTEM_FILES
    processes: Processes = SYSTEM_PROCESSES
    connections: Connections = SYSTEM_CONNECTIONS


SYSTEM = Effects()
