"""Which flavors a gang takes its quota from."""

import pytest

from ganglion.engine.kueue.flavors import Assigner, Assignment, Mode
from ganglion.engine.queues.cohort import Borrowing
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model import events as ev
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.queue import Flavors, Preemption, Queue, Victims
from ganglion.model.resources import WHOLE, Amount, GpuRequest, PodRequest
from ganglion.model.workload import Gang, PodSet
from tests.engine.build import gang, node, state_of
from tests.engine.lenders import CLASSIC


def amounts(**gpus: int) -> dict[str, Amount]:
    return {flavor: Amount(number * WHOLE) for flavor, number in gpus.items()}


def state(flavors: Flavors, preempt: Victims = Victims.LOWER, **quota: int) -> ClusterState:
    """Flavors `new` and `old`: 4 GPUs of each for the queue, and 4 of `new` to be borrowed."""
    rules, owned = Preemption(preempt, Victims.NEVER), quota or {"new": 4, "old": 4}
    return state_of(
        node("n", 16, kind="new"),
        node("o", 16, kind="old"),
        queues=(
            Queue("all", quota=amounts(new=8, old=4)),
            Queue(
                "q",
                "all",
                amounts(**owned),
                flavors=flavors,
                preemption=rules,
            ),
            Queue("idle", "all", amounts(new=4, old=0)),
        ),
        policy=CLASSIC,
    )


def assign(where: ClusterState, asked: Gang) -> Assignment:
    where.apply(ev.GangSubmitted(5, asked))
    record = where.gangs.record(asked.id)
    usable = where.fleet.totals.flavors_for(record.shapes)
    assigner = Assigner(
        where, Borrowing(where.queues.shares), record, lambda _, flavor: flavor in usable, 9
    )
    return assigner.assign([each.count for each in asked.pod_sets])


def fill(where: ClusterState, gpus: int, priority: int = 1) -> None:
    where.apply(ev.GangSubmitted(1, gang("there", 1, gpus, "q", priority=priority)))
    seat = PodPlacement("main", 0, "n", tuple(range(gpus)), WHOLE)
    where.apply(ev.GangPlaced(1, "there/0", 1, Placement((seat,))))


ORDER = ("new", "old")


@pytest.mark.parametrize(
    ("rules", "used", "asked", "flavor", "mode"),
    [
        (Flavors(ORDER), 0, 4, "new", Mode.FIT),
        (Flavors(("old", "new")), 0, 4, "old", Mode.FIT),
        (Flavors(), 0, 4, "new", Mode.FIT),
        (Flavors(ORDER), 2, 4, "new", Mode.FIT),
        (Flavors(ORDER, borrow_first=False), 2, 4, "old", Mode.FIT),
        (Flavors(ORDER), 6, 4, "old", Mode.FIT),
        (Flavors(ORDER, preempt_first=True), 6, 4, "new", Mode.PREEMPT),
    ],
)
def test_the_rules_of_the_queue_say_which_flavor(
    rules: Flavors, used: int, asked: int, flavor: str, mode: Mode
) -> None:
    where = state(rules)
    if used:
        fill(where, used)

    found = assign(where, gang("in", 1, asked, "q", priority=5))

    assert found.flavors == ({"gpu_milli": flavor},)
    assert found.quality.mode is mode


@pytest.mark.parametrize(("prefer", "flavor"), [(False, "new"), (True, "old")])
def test_the_queue_prefers_to_borrow_or_to_preempt(prefer: bool, flavor: str) -> None:
    rules = Flavors(("old", "new"), borrow_first=False, prefer_preempting=prefer)
    where = state(rules, new=0, old=4)
    where.apply(ev.GangSubmitted(1, gang("there", 1, 4, "q", priority=1)))
    seat = PodPlacement("main", 0, "o", (0, 1, 2, 3), WHOLE)
    where.apply(ev.GangPlaced(1, "there/0", 1, Placement((seat,))))

    assert assign(where, gang("in", 1, 4, "q", priority=5)).flavors == ({"gpu_milli": flavor},)


def test_a_flavor_whose_gangs_may_not_be_stopped_is_passed_over() -> None:
    where = state(Flavors(ORDER, preempt_first=True), Victims.NEVER)
    fill(where, 6)

    assert assign(where, gang("in", 1, 4, "q", priority=5)).flavors == ({"gpu_milli": "old"},)


def test_more_than_there_could_ever_be_fits_no_flavor() -> None:
    found = assign(state(Flavors(ORDER)), gang("in", 1, 9, "q"))

    assert found.quality.mode is Mode.NO_FIT
    assert found.missing == ("new", "gpu_milli")


def test_pods_that_cannot_use_a_flavor_take_another() -> None:
    only_old = PodRequest(gpu=GpuRequest(1, types=("old",)))

    found = assign(state(Flavors(ORDER)), gang("in", 1, queue="q", request=only_old))

    assert found.flavors == ({"gpu_milli": "old"},)


def test_pod_sets_count_together_and_may_take_different_flavors() -> None:
    pods = tuple(PodSet(name, 1, request=PodRequest(gpu=GpuRequest(4))) for name in ("a", "b"))

    found = assign(
        state(Flavors(ORDER, borrow_first=False)), Gang("in/0", "in", "q", pod_sets=pods)
    )

    assert found.flavors == ({"gpu_milli": "new"}, {"gpu_milli": "old"})
    assert found.wants == {("new", "gpu_milli"): 4000, ("old", "gpu_milli"): 4000}


def test_gpus_without_any_quota_are_nobodys() -> None:
    where = state_of(
        node("n"), queues=(Queue("q", quota={"H100": Amount(cpu_milli=8000)}),), policy=CLASSIC
    )

    assert assign(where, gang("in", 1, 1, "q")).missing == ("", "gpu_milli")
    assert assign(where, gang("cpus", 1, 0, "q", cpu=8000)).missing is None


def lone(quota: dict[str, Amount]) -> ClusterState:
    return state_of(node("n", 8), queues=(Queue("q", quota=quota),), policy=CLASSIC)


def test_quota_of_all_flavors_together_leaves_the_flavor_open() -> None:
    where = lone({"*": Amount(4000)})

    assert assign(where, gang("fits", 1, 4, "q")).flavors == ({"gpu_milli": "*"},)
    assert assign(where, gang("large", 1, 5, "q")).missing == ("*", "gpu_milli")


def test_both_quotas_count_where_a_queue_has_both() -> None:
    where = lone({"*": Amount(2000), "H100": Amount(4000)})

    assert assign(where, gang("fits", 1, 2, "q")).wants == {
        ("H100", "gpu_milli"): 2000,
        ("*", "gpu_milli"): 2000,
    }
    assert assign(where, gang("large", 1, 3, "q")).quality.mode is Mode.NO_FIT


def test_without_any_quota_only_the_nodes_bound_a_queue() -> None:
    assert assign(lone({}), gang("any", 1, 8, "q", cpu=1000)).quality.mode is Mode.FIT
