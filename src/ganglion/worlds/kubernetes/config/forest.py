"""Which queues can stand in one tree, when some of them cannot."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from ganglion.specs.policy.queue_schema import QueueFile
from ganglion.specs.wording import meant
from ganglion.worlds.kubernetes.config.verdicts import AcceptedReason, SpecCandidate


class Fault(Struct, frozen=True):
    """Why something does not count."""

    reason: AcceptedReason
    message: str


class Sapling(Struct):
    """A queue that looks for its place.

    Attributes:
        name: of the queue.
        options: specs with what they say, the preferred one first; none = it has no place.
        fault: why the first option does not count.
    """

    name: str
    options: list[tuple[SpecCandidate, QueueFile]]
    fault: Fault | None = None

    @property
    def parent(self) -> str:
        """Name of the queue above, by the option that is tried."""
        return self.options[0][1].parent

    def give_up(self, fault: Fault) -> None:
        """Drop the option that is tried; the first fault is the one to report."""
        self.options.pop(0)
        self.fault = self.fault or fault


def settle(saplings: Mapping[str, Sapling]) -> None:
    """Drop options until every queue that is left has its parent and none is above itself.

    A queue with an earlier spec goes back to it. A queue is dropped for what its own spec says,
    never for a fault of a sibling or of a queue below it.
    """
    while True:
        standing = {name: each for name, each in saplings.items() if each.options}
        orphans = [each for each in standing.values() if each.parent not in {*standing, ""}]
        for each in orphans:
            each.give_up(_orphaned(each.parent, saplings))
        if not orphans and not _broken(standing):
            return


def _orphaned(parent: str, saplings: Mapping[str, Sapling]) -> Fault:
    if parent in saplings:
        message = f"spec.parent: the queue `{parent}` is set apart itself: see its conditions"
        return Fault(AcceptedReason.NO_PARENT, message)
    hint = meant(parent, [*saplings]) or "create it, or leave `parent` out"
    return Fault(AcceptedReason.NO_PARENT, f"spec.parent: there is no queue `{parent}` ({hint})")


def _broken(standing: Mapping[str, Sapling]) -> bool:
    """Break every circle; whether there was one."""
    found = False
    for circle in list(_circles(standing)):
        shown = " > ".join([circle[0], *reversed(circle)])
        fault = Fault(
            AcceptedReason.CIRCLE, f"spec.parent: the queue tree runs in a circle: {shown}"
        )
        able = [name for name in circle if len(standing[name].options) > 1]
        for name in able or circle:
            standing[name].give_up(fault)
        found = True
    return found


def _circles(standing: Mapping[str, Sapling]) -> Iterator[list[str]]:
    """Every circle, once, from its first name on; every queue has its parent."""
    done: set[str] = set()
    for name in sorted(standing):
        seen: dict[str, None] = {}
        while name and name not in done and name not in seen:
            seen[name] = None
            name = standing[name].parent  # noqa: PLW2901 - walks up from where it was
        if name in seen:
            path = list(seen)
            circle = path[path.index(name) :]
            least = circle.index(min(circle))
            yield circle[least:] + circle[:least]
        done |= seen.keys()
