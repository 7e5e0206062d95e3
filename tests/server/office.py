"""A server with workspaces whose witnesses say what a test says."""

from pathlib import Path
from typing import Any

from ganglion.lifecycle.workspaces.look import Look, Loss
from ganglion.lifecycle.workspaces.observations import Sight, Witness, doubtful
from ganglion.model.causes import Cause, CauseKind
from ganglion.server.commands import workspaces
from ganglion.server.controllers.workspaces import WorkspacesController
from ganglion.server.state.eyes import Eyes, Seen
from tests.server.conftest import Rig

MIN = 60_000
BY_ADA = Cause(CauseKind.RESUMED, user="ada")
REQUIRED = frozenset({Witness.PROCESSES})


def look_of(now: int, *, moves: bool, doubt: str) -> Look:
    """One look over the minute before: nothing moved, something did, or it is in doubt."""
    quiet = Sight(Witness.PROCESSES, now, now - MIN, now if moves else 0)
    sight = doubtful(Witness.PROCESSES, now, doubt) if doubt else quiet
    return Look(now, (sight,), Loss(2, 1, 512, 1024))


class Onlooker:
    """Returns the given sights."""

    required = REQUIRED

    def look(self) -> Look:
        raise AssertionError("nobody looks: the eyes of these tests are shut")

    def close(self) -> None:
        pass


class ToldEyes(Eyes):
    """Eyes without a thread; what they have seen is given."""

    def __init__(self) -> None:
        super().__init__()
        self.told: dict[tuple[str, int], Look] = {}

    def seen(self, key: tuple[str, int]) -> Seen | None:
        return Seen(REQUIRED, self.told.get(key)) if self.knows(key) else None


class Office:
    """A rig with a keeper of workspaces, and minutes that pass."""

    def __init__(self, folder: Path) -> None:
        self.rig = Rig(folder / "home", self._keepers)
        self.machine = self.rig.machine

    def _keepers(self) -> list[WorkspacesController]:
        self.eyes = ToldEyes()
        self.keeper = WorkspacesController(self.eyes)
        return [self.keeper]

    def open(self, name: str = "nb", **document: Any) -> str:
        """Submit a workspace and let it run."""
        usual = {} if "idle" in document else {"idle_timeout": "30m"}
        data = {"kind": "workspace", **usual, **document}
        found = self.rig.submit(name, **data)
        self.machine.onlookers[f"{found}/0"] = Onlooker()
        self.rig.turn(3)
        return found

    def minutes(self, count: int, *, moves: bool = False, doubt: str = "") -> None:
        """Time passes; every workspace that is looked at tells the same."""
        for _ in range(count):
            self.machine.time += MIN
            now = self.machine.time
            look = look_of(now, moves=moves, doubt=doubt)
            self.eyes.told = {
                (ward.gang.id, ward.attempt): look for ward in self.keeper.wards if ward.runs
            }
            self.rig.turn()

    def events(self, kind: type) -> list[Any]:
        found = self.rig.ledger.cycles()
        return [e for cycle in found for e in cycle.incoming if isinstance(e, kind)]

    def suspend(self, ref: str) -> None:
        self.rig.do(lambda draft: workspaces.suspend(draft, ref, "ada"))
        self.rig.turn(2)

    def resume(self, ref: str) -> None:
        self.rig.do(lambda draft: workspaces.resume(draft, ref, BY_ADA))

    def priority(self, workload: str) -> int:
        with self.rig.service.read() as mind:
            return mind.state.gangs.records[f"{workload}/0"].gang.priority
