"""How much drawn tests try: a little on every change, much more by `make soak`; how they wait."""

import os
import time

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


def pause(begun: float) -> None:
    """Sleep before the next look at what a test waits for: a tenth of the wait so far.

    A look is a request as a rule: fifty a second take more of the machine than what is waited for.

    Args:
        begun: when the wait began, by `time.monotonic`.
    """
    time.sleep(min(0.1, max(0.02, (time.monotonic() - begun) / 10)))
