"""Services beside training in the simulated world: floors hold and places are back in time."""

from collections.abc import Iterator
from random import Random

import pytest
from msgspec.structs import replace
from tests.engine.guarded import OURS
from tests.worlds.simulated.samples import S, job, scenario

from ganglion.engine.gangs.record import SETTLED, GangRecord
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model import events as ev
from ganglion.model.plan import Phase, Plan
from ganglion.model.workload import Checkpoint, Kind
from ganglion.worlds.simulated.attempt import Timing
from ganglion.worlds.simulated.faults.rates import Faults
from ganglion.worlds.simulated.job import SimJob
from ganglion.worlds.simulated.run import simulate
from ganglion.worlds.simulated.scenario import SimulatedScenario

NODES, GPUS = 6, 4
RECALL = 40 * S
SAVES = Checkpoint(interval_ms=60 * S, grace_ms=30 * S)


def service(
    name: str, count: int, floor: int, *, sleeping: int = 0, gpus: int = 2, **more: object
) -> list[SimJob]:
    """Replicas that run for ever, of which the last ones sleep."""
    base = job(name, gpus=gpus, seconds=None, priority=80).gang
    fields = {"kind": Kind.SERVICE, "floor": floor} | more
    return [
        SimJob(
            replace(
                base,
                id=f"{name}/{index}",
                index=index,
                recall_ms=RECALL if index >= count - sleeping else 0,
                **fields,
            ),
            None,
        )
        for index in range(count)
    ]


def training(
    rng: Random, count: int, over: int, priorities: tuple[int, ...] = (20, 50)
) -> list[SimJob]:
    """Jobs that save, and some that do not, coming all the time."""
    return [
        job(
            f"t{number}",
            at=rng.randrange(over),
            gpus=rng.choice((1, 2, 4)),
            pods=rng.choice((1, 1, 2)),
            seconds=rng.randint(30, 900),
            checkpoint=rng.choice((None, SAVES, SAVES)),
            priority=rng.choice(priorities),
        )
        for number in range(count)
    ]


class Attendant:
    """Wakes who sleeps where a service lacks replicas, and looks at every cycle."""

    def __init__(self, scene: SimulatedScenario) -> None:
        self._gangs = [each.gang for each in scene.jobs if each.gang.kind is Kind.SERVICE]
        self._services = dict.fromkeys(each.workload for each in self._gangs)
        self.state: ClusterState | None = None
        self.woken: dict[str, int] = {}
        self.waits: list[int] = []
        self.running: dict[str, set[str]] = {each: set() for each in self._services}
        self.stopped = self.lost = 0

    def note(self, event: ev.Event) -> None:
        """Which replicas run."""
        if isinstance(event, ev.GangStarted | ev.GangEnded | ev.GangStopping):
            name = event.gang.partition("/")[0]
            if isinstance(event, ev.GangStarted) and name in self.running:
                self.running[name].add(event.gang)
                if event.gang in self.woken:
                    self.waits.append(event.at - self.woken.pop(event.gang))
            elif not isinstance(event, ev.GangStarted):
                self.lost += _is_loss(event) and name in self.running
                self.running.get(name, set()).discard(event.gang)
                self.woken.pop(event.gang, None)

    def tend(self, state: ClusterState, now: int) -> list[ev.Event]:
        """Ones that sleep take the places of ones that are gone."""
        self.state = state
        calls = list(self._calls())
        self.woken |= dict.fromkeys(calls, now)
        return [ev.GangUpdated(now, each, recall_ms=0) for each in calls]

    def next_due(self, now: int) -> int | None:
        """A replica that is missing since this cycle is replaced in the next."""
        return now + 1 if any(self._calls()) else None

    def _calls(self) -> Iterator[str]:
        """For each service that lacks a replica, one that sleeps and has a place."""
        state = self.state
        assert state
        for name in self._services:
            records = self._records(name)
            wanted = sum(not each.recall_ms for each in self._gangs if each.workload == name)
            present = sum(each.phase in SETTLED for each in records)
            ids = [each.gang.id for each in records if each.gang.recall_ms]
            asleep = [
                gang for gang in ids if state.timeline.kept.get(gang) and gang not in self.woken
            ]
            on_its_way = any(each.gang.id in self.woken for each in records)
            if records and present < wanted and asleep and not on_its_way:
                yield asleep[0]

    def look(self, events: list[ev.Event], plan: Plan) -> None:
        """After every cycle: no service was taken below a floor; missing replicas have a place."""
        state = self.state
        assert state
        for stop in plan.stops:
            gang = state.gangs.records[stop.gang].gang
            if gang.floor and stop.cause.kind in OURS:
                self.stopped += 1
                assert len(self.running[gang.workload]) >= gang.floor, stop
        for name in self._services:
            records = self._records(name)
            floor = records[0].gang.floor if records else 0
            seated = sum(each.phase in (*SETTLED, Phase.RESERVED) for each in records)
            if records and has_capacity(state):
                waiting = [each.gang.id for each in records if each.phase is Phase.PENDING]
                assert seated >= floor, f"{name}: {seated} of {floor}, {waiting} wait"
        for each in self.woken:
            assert state.gangs.records[each].phase in (*SETTLED, Phase.RESERVED)

    def _records(self, name: str) -> list[GangRecord]:
        state = self.state
        assert state
        gangs = (each.id for each in self._gangs if each.workload == name)
        return [state.gangs.records[gang] for gang in gangs if gang in state.gangs.records]


def _is_loss(event: ev.GangEnded | ev.GangStopping) -> bool:
    return isinstance(event, ev.GangEnded) and event.outcome is ev.Outcome.NODE_LOST


def has_capacity(state: ClusterState) -> bool:
    """Whether nodes enough for all replicas are there."""
    return sum(not state.fleet.tree.is_gone(name) for name in state.fleet.nodes) >= NODES // 2


def run(
    seed: int, *, sleeping: int = 0, node_mtbf: int = 0, priorities: tuple[int, ...] = (20, 50)
) -> Attendant:
    rng = Random(seed)
    jobs = [
        *service("chat", 4 + sleeping, 3, sleeping=sleeping),
        *service("embed", 3, 2, gpus=1),
        *training(rng, 60, 3_000, priorities),
    ]
    scene = scenario(
        *sorted(jobs, key=lambda each: each.gang.submitted),
        nodes=NODES,
        gpus=GPUS,
        faults=Faults(seed, node_mtbf_ms=node_mtbf, node_mttr_ms=300 * S),
        timing=Timing(start_ms=2 * S, stop_ms=20 * S, restart_ms=5 * S),
        horizon=5_000,
    )
    attendant = Attendant(scene)
    done = simulate(scene, check=True, observe=attendant.look, warden=attendant)
    assert done.cycles > 100
    return attendant


def test_whoever_is_missing_has_a_place_at_once_while_nodes_fail() -> None:
    lost = sum(run(seed, node_mtbf=4_000 * S).lost for seed in range(6))
    assert lost > 5, "no replica was ever lost: the test shows nothing"


def test_floors_hold_while_more_urgent_work_preempts_replicas() -> None:
    stopped = sum(run(seed, priorities=(20, 95, 95)).stopped for seed in range(6))
    assert stopped > 5, "no replica was ever stopped: the test shows nothing"


@pytest.mark.parametrize("sleeping", [1, 2])
def test_whoever_is_woken_runs_within_the_time_of_its_contract(sleeping: int) -> None:
    found = [run(seed, sleeping=sleeping, node_mtbf=4_000 * S) for seed in range(6)]
    waits = [each for attendant in found for each in attendant.waits]
    assert len(waits) > 5 and max(waits) <= RECALL + 2 * S
    assert max(waits) > 2 * S, "no place was ever lent: the test shows nothing"
