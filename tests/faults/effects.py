"""A machine of which everything fails that a plan says."""

import errno

from ganglion.seams.effects import SYSTEM, Effects
from tests.faults.connections import BROKEN, FULL, FaultyConnections
from tests.faults.files import FaultyFiles
from tests.faults.plan import Plan


def failing(plan: Plan, number: int = errno.ENOSPC) -> Effects:
    """Files and databases of which some calls fail; the rest is real.

    Args:
        plan: which calls.
        number: ENOSPC for a disk that is full, EIO for one that is broken.
    """
    name = FULL if number == errno.ENOSPC else BROKEN
    connections = FaultyConnections(plan, name)
    return SYSTEM._replace(files=FaultyFiles(plan, number), connections=connections)
