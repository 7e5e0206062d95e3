"""The attempts at running gangs, and which pods belong to which of them."""

from ganglion.model.errors import InvariantBroken
from ganglion.worlds.kubernetes.cluster_view.attempt import Attempt


class Attempts:
    """An attempt for every gang that the engine has placed.

    Invariant: a pod is seated for the gang in whose attempt it has a place, or leaves one; and
    the pods with a place are seated.

    Attributes:
        by_gang: attempts.
        seated: pod UID -> gang whose attempt it belongs to.
    """

    def __init__(self) -> None:
        self.by_gang: dict[str, Attempt] = {}
        self.seated: dict[str, str] = {}

    def of_pod(self, uid: str) -> Attempt | None:
        """The attempt that a pod belongs to; None = it belongs to none."""
        return self.by_gang.get(self.seated.get(uid, ""))

    def begin(self, attempt: Attempt) -> None:
        """The engine has placed a gang."""
        self.by_gang[attempt.gang] = attempt

    def take_over(self, others: "Attempts") -> None:
        """Have the attempts of clusters that take part for the first time as well."""
        self.by_gang.update(others.by_gang)
        self.seated.update(others.seated)

    def check(self) -> None:
        """Check the invariant, between turns. Raises InvariantBroken."""
        for gang, attempt in self.by_gang.items():
            if attempt.gang != gang:
                raise InvariantBroken(f"the attempt of gang {attempt.gang} is listed as {gang}")
            lacking = sorted(set(attempt.pods.values()) - self.seated.keys())
            if lacking:
                raise InvariantBroken(f"pods of gang {gang} are not seated: {lacking}")
        for uid, gang in self.seated.items():
            known = self.by_gang.get(gang)
            if known is None or not (uid in known.pods.values() or uid in known.dropping):
                raise InvariantBroken(f"pod {uid} is seated for gang {gang} and has no place there")
