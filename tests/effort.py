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


def sample(cases: range, every: int, turn: int = 0) -> range:
    """A part of a long row of cases, spread over all of it; `make soak` takes them all.

    Args:
        cases: all of them.
        every: one of this number is taken on every change.
        turn: which of them; tests that differ in something else take different ones.
    """
    return cases if TIMES > 1 else cases[turn % every :: every]
