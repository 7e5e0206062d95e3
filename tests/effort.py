"""How much drawn tests try: a little on every change, much more by `make soak`."""

import os

TIMES = int(os.environ.get("GANGLION_SOAK", "1"))
"""How many times as many examples as usual."""


def examples(usual: int) -> int:
    """Examples of a property."""
    return usual * TIMES
