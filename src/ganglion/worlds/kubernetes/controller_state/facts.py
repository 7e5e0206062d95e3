"""What the engine was given in a turn, and what had to be left out."""

from collections.abc import Callable

from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.errors import GanglionError, InputError, InvariantBroken
from ganglion.model.events import Event, GangPlaced, GangSubmitted
from ganglion.model.plan import Defect, Plan, Rejection
from ganglion.worlds.kubernetes.types.bounds import brief


class Facts:
    """Events that came from the clusters, and objects that make no sense.

    Invariant: what the engine rejected is no fact, and all that is set apart has a reason that
    is short enough to be written.

    Args:
        state: the engine's.
        isolate: whether a defect sets apart what it is about; else it is raised.

    Attributes:
        state: as above.
        taken: events of this turn that changed the engine's state, or are none of its concern.
        rejected: events of this turn that made no sense.
        defects: where the engine, or an evaluation, failed since the last plan.
        apart: objects that are left out: kind and name -> why.
    """

    def __init__(self, state: ClusterState, *, isolate: bool) -> None:
        self.state, self._isolate = state, isolate
        self.taken: list[Event] = []
        self.rejected: list[Rejection] = []
        self.defects: list[Defect] = []
        self.apart: dict[tuple[str, str], str] = {}

    def open(self) -> None:
        """A turn begins."""
        self.taken, self.rejected = [], []

    def report(self, plan: Plan) -> None:
        """Add what was left out to a plan; what is found from here on goes with the next one."""
        plan.rejected[:0], plan.defects[:0] = self.rejected, self.defects
        self.defects = []

    def apply(self, event: Event) -> bool:
        """Pass a fact to the engine; an invalid one stops no other."""
        return self._heard(event, lambda: self.state.apply(event))

    def note(self, event: Event) -> None:
        """Keep a fact for those that follow the events; the engine takes no notice of it."""
        self.taken.append(event)

    def take_over(self, event: GangSubmitted, place: GangPlaced) -> bool:
        """Pass a gang that has its place already to the engine; returns whether it took it."""
        changed = self._heard(event, lambda: self.state.take_over(event, place))
        if changed:
            self.taken.append(place)
        return changed

    def _heard(self, event: Event, hear: Callable[[], bool]) -> bool:
        try:
            changed = hear()
        except GanglionError as error:
            self.rejected.append(Rejection(event, error.code, error.message))
            return False
        except Exception as error:
            if not self._isolate:
                raise
            self.defects.append(Defect("events", "", f"{type(error).__name__}: {error}"))
            return False
        if changed:
            self.taken.append(event)
        return changed

    def failed(self, kind: str, name: str, error: Exception) -> str:
        """Set an object apart whose evaluation raised, so that all others are decided.

        Args:
            kind: of the object, as `gang` or `node`.
            name: its own, with the prefix of its cluster.
            error: what was raised. One that is no `InputError` is a defect of ours; it is raised
                again where defects are not isolated.

        Returns:
            Why, for people.
        """
        told = str(error)
        if not isinstance(error, InputError):
            if not self._isolate:
                raise error
            told = f"{type(error).__name__}: {error}"
            self.defects.append(Defect(kind, name, told))
        elif error.hint:
            told = f"{told}; {error.hint}"
        return self.set_apart(kind, name, told)

    def set_apart(self, kind: str, name: str, why: str) -> str:
        """Leave an object out; returns the reason as it is written."""
        told = self.apart[kind, name] = brief(why)
        return told

    def understood(self, kind: str, name: str) -> None:
        """An object is not, or no longer, left out."""
        self.apart.pop((kind, name), None)

    def check(self) -> None:
        """Check the invariant. Raises InvariantBroken."""
        if any(fact is each.event for fact in self.taken for each in self.rejected):
            raise InvariantBroken("an event that the engine rejected counts as a fact")
        for (kind, name), why in self.apart.items():
            if not why or why != brief(why):
                raise InvariantBroken(f"{kind} {name} is set apart without a reason to write")
