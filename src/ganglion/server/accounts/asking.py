"""What the root helper says about users' accounts; it may be started and ended at any time."""

import threading
from collections.abc import Sequence

from ganglion.model.errors import EnvironmentFault, NoAccount
from ganglion.model.workload import UnixAccount
from ganglion.seams.clock import Clock
from ganglion.server.accounts.settings import SharedHost
from ganglion.worlds.local.supervision.children import NotStarted, asked_once

ASK_S = 2.0
"""How long the helper may take to say whether it would start programs."""
KEPT_S = 5.0
"""How long an answer to a question about all accounts is good for."""
START = "as root: ganglion helper"


class HelperGone(EnvironmentFault):
    """Programs of other users cannot be started at present."""

    code = "environment.helper"


def check(host: SharedHost, account: UnixAccount) -> Sequence[str]:
    """Ask whether programs of an account would be started; what would not be enforced.

    Raises:
        HelperGone: the helper does not answer.
        NoAccount: its policy does not allow it.
    """
    try:
        answer = asked_once(str(host.helper), {"op": "check", "uid": account.uid}, ASK_S)
    except NotStarted as error:
        if error.passing:
            raise HelperGone(str(error), START) from None
        hint = "the policy of the helper says which accounts; see docs/access.md#a-shared-host"
        raise NoAccount(f"{account}: {error}", hint) from None
    return tuple(map(str, answer["unenforced"]))


class HelperWatch:
    """What is wrong with the helper; many callers cost it one question in a while.

    Args:
        host: whose accounts; None = there is no helper, and nothing is wrong.
        clock: a steady one.
    """

    def __init__(self, host: SharedHost | None, clock: Clock) -> None:
        self._host, self._clock = host, clock
        self._lock, self._asked, self._found = threading.Lock(), -KEPT_S, ""

    def trouble(self) -> str:
        """Why programs of users cannot be started, or what is not enforced; empty = all is well."""
        if self._host is None:
            return ""
        with self._lock:
            now = self._clock.monotonic()
            if now - self._asked >= KEPT_S:
                self._found, self._asked = _standing(self._host), now
            return self._found


def _standing(host: SharedHost) -> str:
    missing = dict[str, None]()
    for each in host.accounts.values():
        try:
            missing |= dict.fromkeys(check(host, each))
        except (HelperGone, NoAccount) as error:
            return error.message
    names = ", ".join(missing)
    return f"this machine does not enforce what jobs of users ask for: {names}" if names else ""
