"""What witnesses see of a workspace, and what is remembered of it.

A witness either vouches for a time in which it would have noticed anything that moved, or says
why it cannot. Silence is no witness: whatever was not vouched for is not known to be idle.
"""

from enum import StrEnum

from msgspec import Struct, field


class Witness(StrEnum):
    """The sources of evidence whether a workspace is used."""

    GPU = "gpu"
    """Engine activity, and bytes over PCIe."""
    KERNELS = "kernels"
    """The notebook server: cells that run, terminals, notebooks that are saved."""
    PEOPLE = "people"
    """Keys pressed in attached terminals, and connections to its port."""
    PROCESSES = "processes"
    """What its processes use of the CPU, read and write."""
    PROGRAM = "program"
    """The program itself, where it reports that it works."""


class Sight(Struct, frozen=True):
    """What one witness saw with one look; times in ms.

    Attributes:
        witness: which one looked.
        at: when.
        since: it vouches for everything from here to `at`.
        moved: when it last saw something move; 0 = not since `since`. `at` = right now.
        doubt: why it has no evidence, for people; then the times mean nothing.
        said: what it saw, for people.
    """

    witness: Witness
    at: int
    since: int = 0
    moved: int = 0
    doubt: str = ""
    said: str = ""


def doubtful(witness: Witness, at: int, why: str) -> Sight:
    """A look without a result."""
    return Sight(witness, at, doubt=why)


class Vouch(Struct, frozen=True):
    """What one witness vouches for without a gap; times in ms.

    Attributes:
        at: its last look.
        since: beginning of the time it vouches for.
        moved: when something last moved, ever; 0 = it has seen nothing move.
        doubt: why its last look had no result; empty = it had one.
        said: what it saw when something last moved.
    """

    at: int
    since: int
    moved: int = 0
    doubt: str = ""
    said: str = ""

    @property
    def quiet_since(self) -> int:
        """Since when nothing has moved, as far as this witness can say."""
        return max(self.since, self.moved)


class WitnessMemory(Struct):
    """What the witnesses of one workspace have seen. May be forgotten: then it begins anew.

    Attributes:
        vouches: the last word of every witness that ever looked.
    """

    vouches: dict[Witness, Vouch] = field(default_factory=dict)

    def see(self, sight: Sight, gap_ms: int) -> None:
        """Take a look in.

        Args:
            sight: the look; one older than the last of its witness is left out.
            gap_ms: longest time between two looks that counts as none.
        """
        before = self.vouches.get(sight.witness)
        if before and sight.at < before.at:
            return
        self.vouches[sight.witness] = _merged(before, sight, gap_ms)


def _merged(before: Vouch | None, sight: Sight, gap_ms: int) -> Vouch:
    moved, said = (before.moved, before.said) if before else (0, "")
    if sight.doubt:
        return Vouch(sight.at, sight.at, moved, sight.doubt, said)
    if sight.moved and sight.moved >= moved:
        moved, said = sight.moved, sight.said
    since = sight.since
    if before and not before.doubt and since <= before.at + gap_ms:
        since = min(since, before.since)
    return Vouch(sight.at, since, moved, "", said)
