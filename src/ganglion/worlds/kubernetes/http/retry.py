"""When and how long to wait before something is tried again."""

import random

from ganglion.worlds.kubernetes.http.errors import ApiError, Broken, TooMany

FIRST_S = 0.1
LONGEST_S = 5.0


def worth_repeating(error: ApiError) -> bool:
    """Whether the same request may succeed a little later."""
    return isinstance(error, Broken | TooMany)


def pause_s(attempt: int, error: ApiError | None = None, longest_s: float = LONGEST_S) -> float:
    """Return how long to wait after attempt number `attempt`, counted from 0, in seconds.

    The pauses double, and differ from one client to the next, so that those whom one outage
    struck do not come back all at once. The server's own wish is the least.
    """
    longest = min(longest_s, FIRST_S * (1 << min(attempt, 16)))
    wish = error.retry_after_s if error else 0
    return wish + longest * random.uniform(0.5, 1.0)
