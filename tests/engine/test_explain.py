"""Explanations are true: their numbers, their never, and the changes they suggest."""

from random import Random

from ganglion.engine.cycle import cycle
from ganglion.engine.explain import explain, verdict
from ganglion.model import events as ev
from ganglion.model.levels import Level
from ganglion.model.plan import Phase
from ganglion.model.resources import GpuRequest, PodRequest
from ganglion.model.workload import Constraints, Topology
from tests.engine import random_fleets as make
from tests.engine.build import gang, node, state_of, submit
from tests.engine.test_place import RACKS


def test_a_wait_for_a_rack_gives_the_numbers() -> None:
    state = state_of(*RACKS[:4])
    submit(state, gang("f0", gpus=8), gang("f1", pods=1, gpus=1, constraints=Constraints()))
    submit(state, gang("g", pods=2, gpus=8, topology=Topology(required=Level.RACK)), now=2)
    submit(state, gang("h", pods=2, gpus=8, topology=Topology(required=Level.RACK)), now=3)

    told = explain(state, "h/0", 4)

    assert told.reason is not None
    assert told.reason.token in ("topology", "capacity")
    assert not told.reason.never
    assert told.position == 1
    assert sum(told.histogram.values()) == 4


def test_what_can_never_fit_says_so_with_the_largest_node() -> None:
    answer = verdict(state_of(node("n0")), gang("g", gpus=9), 0)

    assert answer.reason is not None
    assert answer.reason.never
    assert answer.reason.message == "one pod needs 9 GPUs on one node; the largest node has 8"


def test_a_gang_larger_than_the_fleet_never_fits() -> None:
    answer = verdict(state_of(node("n0"), node("n1")), gang("g", pods=3, gpus=8), 0)

    assert answer.reason is not None
    assert answer.reason.never


def test_an_unknown_type_is_a_constraint_and_another_type_is_suggested() -> None:
    request = PodRequest(gpu=GpuRequest(2, types=("B200",)))

    answer = verdict(state_of(node("n0")), gang("g", request=request), 0)

    assert answer.reason is not None
    assert answer.reason.token == "constraint"
    assert answer.suggestions[0].change == "use H100 GPUs instead of B200"


def test_the_largest_change_that_helps_is_suggested() -> None:
    state = state_of(*(node(f"n{i}") for i in range(3)))

    answer = verdict(state, gang("g", pods=50, gpus=5), 0)

    assert [each.change for each in answer.suggestions] == ["ask for 3 pods instead of 50"]


def test_those_ahead_are_named() -> None:
    state = state_of(node("n0"))
    submit(state, gang("run", gpus=8))
    submit(state, gang("a", gpus=8, submitted=1), gang("b", gpus=8, submitted=2))

    told = explain(state, "b/0", 3)

    assert (told.position, told.ahead, told.ahead_count) == (2, ("a/0",), 1)


def test_a_drained_fleet_is_told_from_a_full_one() -> None:
    state = state_of(node("n0"))
    cycle(state, [ev.NodeCordoned(1, "n0", "maintenance")], 1)

    submit(state, gang("a"))

    assert state.reason("a/0").token == "draining"


def test_a_running_gang_has_nothing_to_explain() -> None:
    state = state_of(node("n0"))
    submit(state, gang("a"))

    assert explain(state, "a/0", 2).phase == Phase.STARTING


def test_verdicts_and_suggestions_hold_on_random_fleets() -> None:
    """What a verdict promises happens when the gang is submitted; never means never."""
    for seed in range(150):
        rng = Random(seed)
        state = state_of(queues=())
        cycle(state, [ev.QueueSet(0, queue) for queue in make.queue_tree(rng)], 0)
        cycle(state, [ev.NodeAdded(0, make.node(rng, f"n{i}")) for i in range(5)], 0)
        cycle(state, [ev.GangSubmitted(1, make.gang(rng, i)) for i in range(8)], 1)
        for now in range(2, 6):  # let whoever has a claim make it
            cycle(state, [], now)
        asked = make.gang(rng, 100)

        answer = verdict(state, asked, 6)
        plan = cycle(state, [ev.GangSubmitted(6, asked)], 6)

        given = [
            each for each in plan.decisions if isinstance(each, ev.GangPlaced | ev.GangReserved)
        ]
        placed = [each.placement for each in given if each.gang == asked.id]
        stopped = {each.gang for each in plan.stops} | {each.gang.id for each in plan.resizes}
        assert stopped >= set(answer.stops)
        assert placed == [answer.placement] * bool(answer.placement), seed
        if answer.reason and answer.reason.never:
            everything_ends(state, keep=asked.id)
            assert state.records[asked.id].phase is Phase.PENDING, seed


def everything_ends(state: object, keep: str) -> None:
    for _ in range(20):
        running = [
            ev.GangEnded(3, each.gang.id, each.attempt, ev.Outcome.SUCCEEDED)
            for each in state.records.values()  # type: ignore[attr-defined]
            if each.phase is Phase.STARTING and each.gang.id != keep
        ]
        cycle(state, running, 3)  # type: ignore[arg-type]
