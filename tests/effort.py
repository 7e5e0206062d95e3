"""How much drawn tests try: a little on every change, much more by `make soak`."""

import os

TIMES = int(os.environ.get("GANGLION_SOAK", "1"))
"""How many times as many examples as usual."""


def examples(usual: int, nightly: int = 0) -> int:
    """Examples of a property.

    Args:
        usual: on every change.
        nightly: by `make soak`; 0 = as many times the usual as all others.
    """
    return nightly if nightly and TIMES > 1 else usual * TIMES
