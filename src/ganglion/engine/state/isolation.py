"""Stages of a cycle: what raises in one is undone, and the gang that it was about is set apart.

A stage says about which gang it decides (`ClusterState.attend`). When it raises, everything since
then is undone, in the state and in the plan, the gang is set apart, and the stage begins again
without it. A stage that fails over no gang is left out of this cycle. So one bad gang stops
only itself, and what was decided before it stays decided.
"""

from collections.abc import Callable, Iterable

from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.state.rollback import roll_back
from ganglion.engine.store.journal import Undo
from ganglion.model.errors import GanglionError
from ganglion.model.events import Event, GangPlaced, GangResized, GangSetApart, GangStopping
from ganglion.model.plan import Defect, Plan, Rejection

DEFECTS = 8
"""Gangs set apart in one stage of a cycle; each has the state made anew, which takes long."""

FAILED = "defect"
"""Code of a rejection: the event could not be applied, as the engine failed over it."""


class Isolation:
    """Runs the stages of one cycle.

    Args:
        state: changed by the stages.
        plan: of the cycle.
        active: whether what raises is undone; else it is raised, as tests want it.

    Attributes:
        unfinished: whether a stage failed over more gangs than were set apart.
    """

    def __init__(self, state: ClusterState, plan: Plan, *, active: bool) -> None:
        self._state, self._plan, self._active = state, plan, active
        self.unfinished = False

    def take_in(self, events: Iterable[Event]) -> None:
        """Apply events; one that makes no sense, or that the engine fails over, stops no other."""
        for event in events:
            try:
                self._state.apply(event)
            except GanglionError as error:
                self._plan.rejected.append(Rejection(event, error.code, error.message))
            except Exception as error:
                if not self._active:
                    raise
                told = _told(error)
                gang = getattr(event, "gang", "")
                named = gang if isinstance(gang, str) else gang.id
                self._plan.rejected.append(Rejection(event, FAILED, told))
                self._plan.defects.append(Defect("events", named, told))

    def stage(self, name: str, step: Callable[[], None]) -> None:
        """Run a stage; `name` is for people."""
        if not self._active:
            step()
            return
        for _ in range(DEFECTS):
            error = self._tried(step)
            if error is None or not self._set_apart(name, error):
                return
        self.unfinished = True

    def _tried(self, step: Callable[[], None]) -> Exception | None:
        """What a stage raised; all that it did since it turned to its last gang is undone."""
        state = self._state
        state.journal.open()
        try:
            step()
        except Exception as error:
            self._undo(state.journal.close())
            return error
        finally:
            state.journal.close()
        return None

    def _undo(self, undone: list[Undo]) -> None:
        roll_back(self._state, undone)
        plan = self._plan
        events = [each.event for each in undone]
        decided = [each for each in events if any(each is other for other in plan.decisions)]
        plan.decisions[len(plan.decisions) - len(decided) :] = []
        placed = {(e.gang, e.attempt) for e in events if isinstance(e, GangPlaced)}
        stopped = {(e.gang, e.attempt) for e in events if isinstance(e, GangStopping)}
        resized = {(e.gang, e.placement) for e in events if isinstance(e, GangResized)}
        plan.starts[:] = [e for e in plan.starts if (e.gang.id, e.attempt) not in placed]
        plan.stops[:] = [e for e in plan.stops if (e.gang, e.attempt) not in stopped]
        plan.resizes[:] = [e for e in plan.resizes if (e.gang.id, e.placement) not in resized]

    def _set_apart(self, stage: str, error: Exception) -> bool:
        """Leave the gang out that a stage failed over; False = there is none."""
        state, plan, gang = self._state, self._plan, self._state.journal.attended
        told = _told(error)
        plan.defects.append(Defect(stage, gang, told))
        record = state.gangs.records.get(gang)
        if record is None or record.fault:
            return False
        event = GangSetApart(plan.at, gang, stage, told)
        state.apply(event)
        plan.decisions.append(event)
        state.deserved.refresh(plan.at)  # what is set apart asks for nothing
        return True


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
