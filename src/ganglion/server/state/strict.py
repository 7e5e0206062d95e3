"""Whether servers go on when the engine fails over a gang."""

import os

STRICT = "GANGLION_STRICT"
"""Environment variable that lets such failures fail the whole turn, as tests want it."""


def isolates() -> bool:
    """Whether what the engine fails over is undone and set apart."""
    return not os.environ.get(STRICT)
