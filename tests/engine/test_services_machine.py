"""Floors and contracts of recall over random fleets, under every policy."""

from random import Random

import pytest
from msgspec.structs import replace

from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model import events as ev
from ganglion.model.plan import Phase
from ganglion.model.policy import Entitlement, Policy, Repack, StandbyCharge
from tests.effort import sample
from tests.engine import random_fleets as make
from tests.engine.guarded import Guarded
from tests.engine.test_machine import random_step
from tests.engine.test_machine_policies import POLICIES as OTHERS
from tests.engine.test_machine_policies import Lives

POLICIES = OTHERS | {
    "default": Policy(),
    "lost pods are replaced": Policy(repair=True),
    "sleep is free": Policy(sleeping=StandbyCharge.NOTHING, repack=Repack(empty_nodes=True)),
}
SEEDS = range(12)


class Services(Lives):
    """Services and gangs that save come, sleep and wake beside everything else."""

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        self.state, self.twin = Guarded(policy), ClusterState(policy)

    def submit_service(self, rng: Random) -> None:
        gangs = make.service(rng, self.submitted, self.now)
        gangs += [make.saver(rng, self.submitted + 1, self.now)]
        self.submitted += 2
        self.run(*(ev.GangSubmitted(self.now, each) for each in gangs))

    def start_all(self, rng: Random) -> None:
        starting = [
            each for each in self.state.gangs.records.values() if each.phase is Phase.STARTING
        ]
        self.run(*(ev.GangStarted(self.now, e.gang.id, e.attempt) for e in starting))

    def sleep_or_wake(self, rng: Random) -> None:
        kept = [each.record for each in self.state.timeline.kept]
        alive = self.some(rng, *(phase for phase in Phase if phase is not Phase.ENDED))
        record = rng.choice(kept) if kept and rng.random() < 0.5 else alive
        if record and record.gang.floor:
            recall = 0 if record.gang.recall_ms else rng.choice((10_000, 60_000))
            self.run(ev.GangUpdated(self.now, record.gang.id, recall_ms=recall))

    def refloor(self, rng: Random) -> None:
        record = self.some(rng, *(phase for phase in Phase if phase is not Phase.ENDED))
        if record and record.gang.floor:
            floor = rng.randint(0, 4)
            siblings = self.state.gangs.gates.siblings(record.gang.workload)
            self.run(*(ev.GangUpdated(self.now, each, floor=floor) for each in siblings))

    def teardown(self) -> None:
        super().teardown()
        assert [(k.record.gang.id, k.placement, k.charged) for k in self.state.timeline.kept] == [
            (k.record.gang.id, k.placement, k.charged) for k in self.twin.timeline.kept
        ]


OFTEN = ("submit_service", "submit_service", "start_all", "sleep_or_wake", "refloor", "share_time")


@pytest.mark.parametrize("name", POLICIES)
def test_no_decision_breaks_a_floor_or_a_contract(name: str) -> None:
    for seed in sample(SEEDS, 6, list(POLICIES).index(name)):
        rng = Random(f"{name} {seed}")
        engine = Services(POLICIES[name])
        engine.begin(rng, rng.randint(2, 8))
        for _ in range(50):
            if rng.random() < 0.45:
                getattr(engine, rng.choice(OFTEN))(rng)
            else:
                step, arguments = random_step(rng)
                getattr(engine, step)(rng=rng, **arguments)
            engine.every_invariant_holds()
            engine.limits_hold_at_every_start()
        engine.teardown()


@pytest.mark.parametrize(
    ("turn", "entitlement"), ((0, Entitlement.QUOTA), (1, Entitlement.DOMINANT))
)
def test_the_same_under_the_entitlements_of_kueue(turn: int, entitlement: Entitlement) -> None:
    for seed in sample(SEEDS, 10, turn):
        rng = Random(seed)
        policy = Policy(entitlement=entitlement, heads_only=seed % 2 == 0)
        engine = Services(replace(policy, repair=seed % 3 == 0))
        engine.begin(rng, rng.randint(2, 8))
        for _ in range(40):
            if rng.random() < 0.45:
                getattr(engine, rng.choice(OFTEN))(rng)
            else:
                step, arguments = random_step(rng)
                getattr(engine, step)(rng=rng, **arguments)
            engine.every_invariant_holds()
        engine.teardown()
