"""What the root helper says about users' accounts; it may be started and ended at any time."""

from collections.abc import Sequence

from msgspec import Struct

from ganglion.model.errors import EnvironmentFault, NoAccount
from ganglion.model.workload import UnixAccount
from ganglion.server.accounts.settings import SharedHost
from ganglion.worlds.local.supervision.children import NotStarted, asked_once

ASK_S = 2.0
"""How long the helper may take to say whether it would start programs."""
START = "as root: ganglion helper"


class HelperGone(EnvironmentFault):
    """Programs of other users cannot be started at present."""

    code = "environment.helper"


class HelperStanding(Struct, frozen=True):
    """What the helper says.

    Attributes:
        trouble: why programs of users cannot be started; empty = they can.
        unenforced: what this machine does not limit: `memory`, `cpu`, `devices`.
    """

    trouble: str = ""
    unenforced: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        """For a person; empty = all is well."""
        if self.trouble:
            return self.trouble
        names = ", ".join(self.unenforced)
        return f"this machine does not enforce what jobs of users ask for: {names}" if names else ""


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


def standing(host: SharedHost) -> HelperStanding:
    """Ask about every account."""
    troubles, missing = dict[str, None](), dict[str, None]()
    for each in host.accounts.values():
        try:
            missing |= dict.fromkeys(check(host, each))
        except (HelperGone, NoAccount) as error:
            troubles[error.message] = None
            if isinstance(error, HelperGone):
                break
    return HelperStanding("; ".join(troubles), tuple(missing))
