"""A crash between any two writes of a start or a preemption leaves nothing half done.

Every set of writes that can have succeeded when a scheduler dies is tried: all earlier phases and
any part of the one under way. Then something may go wrong besides. The next scheduler, which knows
nothing but the cluster, goes on until there is nothing left to do, itself dying after each write.
"""

import copy
from collections.abc import Callable, Iterator
from itertools import combinations

import pytest
from tests.worlds.kubernetes.act.toy import PLAN, Toy

from ganglion.worlds.kubernetes.act.bind import BindOrder
from ganglion.worlds.kubernetes.act.resume import resume
from ganglion.worlds.kubernetes.act.steps import (
    Await,
    Bind,
    Evict,
    Phase,
    Place,
    Spare,
    Step,
    TakeApart,
    Victim,
    preemption,
    start,
)

ROUNDS = 60
PATIENCE = 6
"""Rounds after which a gang that has begun is taken apart."""


def orders(toy: Toy, key: str, nodes: tuple[str, ...], *, noted: bool = True) -> list[BindOrder]:
    found = [
        BindOrder(pod.ref.namespace, pod.ref.name, pod.uid, node)
        for pod, node in zip(toy.of(key), nodes, strict=True)
    ]
    if noted:
        first = found[0]
        plan = ((PLAN, ",".join(nodes)),)
        found[0] = BindOrder(first.namespace, first.name, first.uid, first.node, notes=plan)
    return found


def victims(toy: Toy, *names: str) -> list[Victim]:
    return [Victim(pod.ref) for pod in toy.pods.values() if pod.ref.name in names]


Scenario = tuple[Toy, tuple[Phase, ...]]


def plain_start() -> Scenario:
    toy = Toy({"a": 4, "b": 4})
    toy.gang("new", 2, ("", "", ""))
    toy.gang("other", 4, ("",))
    return toy, start(orders(toy, "new", ("a", "a", "b")))


def start_without_a_note() -> Scenario:
    toy = Toy({"a": 4, "b": 4})
    toy.gang("new", 2, ("", "", ""))
    return toy, start(orders(toy, "new", ("a", "a", "b"), noted=False))


def elastic_start() -> Scenario:
    toy = Toy({"a": 4, "b": 4})
    toy.gang("new", 2, ("", "", "", ""), least=2)
    return toy, start(orders(toy, "new", ("a", "a", "b", "b")))


def one_for_one() -> Scenario:
    toy = Toy({"a": 4, "b": 4})
    toy.gang("old", 4, ("a", "b"))
    toy.gang("new", 4, ("", ""))
    places = orders(toy, "new", ("a", "b"))
    return toy, preemption("new", places, victims(toy, "old-0", "old-1"))


def two_gangs_go() -> Scenario:
    toy = Toy({"a": 4, "b": 4, "c": 4})
    toy.gang("old", 2, ("a", "c"))
    toy.gang("tiny", 2, ("b",))
    toy.gang("stays", 2, ("b", "c"))
    toy.gang("new", 4, ("", ""))
    toy.nodes |= {"a": 4, "b": 6}
    toy.gang("also", 2, ("a",))
    names = ("old-0", "old-1", "also-0", "tiny-0")
    return toy, preemption("new", orders(toy, "new", ("a", "b")), victims(toy, *names))


def surplus_goes() -> Scenario:
    toy = Toy({"a": 4, "b": 4})
    toy.gang("elastic", 2, ("a", "a", "b", "b"), least=2)
    toy.gang("new", 4, ("",))
    places = orders(toy, "new", ("b",))
    return toy, preemption("new", places, victims(toy, "elastic-2", "elastic-3"))


def owners_are_suspended() -> Scenario:
    toy = Toy({"a": 4, "b": 4})
    toy.gang("old", 4, ("a", "b"), switch=True)
    toy.gang("new", 4, ("", ""))
    gone = victims(toy, "old-0", "old-1")
    owners = [toy.gangs["old"].owner]
    return toy, preemption("new", orders(toy, "new", ("a", "b")), gone, owners)


def partly_free() -> Scenario:
    toy = Toy({"a": 4, "b": 4, "c": 2})
    toy.gang("old", 2, ("b", "b"))
    toy.gang("new", 4, ("", ""))
    toy.gang("small", 2, ("",))
    places = orders(toy, "new", ("a", "b"))
    return toy, preemption("new", places, victims(toy, "old-0", "old-1"))


SCENARIOS = (
    plain_start,
    start_without_a_note,
    elastic_start,
    one_for_one,
    two_gangs_go,
    surplus_goes,
    owners_are_suspended,
    partly_free,
)


def crashes(toy: Toy, phases: tuple[Phase, ...]) -> Iterator[Toy]:
    """Every cluster that a scheduler can leave behind when it dies."""
    for phase in phases:
        if isinstance(phase[0], Await):
            yield copy.deepcopy(toy)
            toy.time_passes()
            continue
        for count in range(len(phase)):
            for part in combinations(phase, count):
                left = copy.deepcopy(toy)
                for step in part:
                    left.apply(step)
                yield left
        for step in phase:
            toy.apply(step)
    yield copy.deepcopy(toy)


def nothing(toy: Toy) -> None:
    pass


def time(toy: Toy) -> None:
    toy.time_passes()


def one_victim_leaves_first(toy: Toy) -> None:
    for pod in [pod for pod in toy.pods.values() if pod.leaving][:1]:
        del toy.pods[pod.uid]


def beneficiary_is_deleted(toy: Toy) -> None:
    toy.delete("new")


def a_pod_of_the_beneficiary_is_made_anew(toy: Toy) -> None:
    first = toy.of("new")[0]
    del toy.pods[first.uid]
    toy.add("new", first.index)


def a_promised_place_is_taken(toy: Toy) -> None:
    taken = next((pod.nominated for pod in toy.of("new") if pod.nominated), "")
    if taken and toy.free(but="new")[taken] >= 2:
        toy.gang("foreign", 2, (taken,))


def the_last_node_shrinks(toy: Toy) -> None:
    last = sorted(toy.nodes)[-1]
    used = toy.nodes[last] - toy.free(but="new")[last]
    toy.nodes[last] = max(0, used)


def victims_are_deleted(toy: Toy) -> None:
    if "old" in toy.gangs:
        toy.delete("old")


TROUBLES = (
    nothing,
    time,
    one_victim_leaves_first,
    beneficiary_is_deleted,
    a_pod_of_the_beneficiary_is_made_anew,
    a_promised_place_is_taken,
    the_last_node_shrinks,
    victims_are_deleted,
)


def settle(toy: Toy, *, one_by_one: bool, slowly: bool) -> None:
    """Let schedulers come and go until nothing is left to do."""
    waited: dict[str, int] = {}
    for _ in range(ROUNDS):
        overdue = frozenset(key for key, rounds in waited.items() if rounds > PATIENCE)
        before, stuck = copy.deepcopy(toy), half_bound(toy)
        steps = resume(toy.seen(overdue))
        waited = {key: waited.get(key, 0) + 1 for key in stuck | placing(steps)}
        deeds = [step for step in steps if not isinstance(step, Await)]
        for step in deeds[:1] if one_by_one else deeds:
            toy.apply(step)
        if not slowly or not deeds:
            toy.time_passes()
        if not steps and not stuck and toy == before:
            return
    raise AssertionError(f"no end: {resume(toy.seen())}")


def placing(steps: tuple[Step, ...]) -> set[str]:
    return {step.gang for step in steps if isinstance(step, Place)}


def half_bound(toy: Toy) -> set[str]:
    return {
        gang.key
        for gang in toy.gangs.values()
        if 0 < sum(bool(pod.node) and not pod.leaving for pod in toy.of(gang.key)) < gang.least
    }


def check(toy: Toy) -> None:
    """What has to hold once nothing is left to do."""
    assert not half_bound(toy)
    for pod in toy.pods.values():
        assert not (pod.victim_of and pod.node), f"{pod.ref.name} is still a victim"
        assert not pod.nominated, f"{pod.ref.name} is still promised a place"
    for gang in toy.gangs.values():
        assert gang.deleted or not gang.suspended, f"{gang.key} is still suspended"
        here = [pod.index for pod in toy.of(gang.key)]
        assert here == ([] if gang.deleted else list(range(gang.count))), f"{gang.key} lost pods"


@pytest.mark.parametrize("slowly", [False, True])
@pytest.mark.parametrize("one_by_one", [False, True])
@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_crash_at_any_point_leaves_nothing_half_done(
    scenario: Callable[[], Scenario],
    trouble: Callable[[Toy], None],
    one_by_one: bool,
    slowly: bool,
) -> None:
    for left in crashes(*scenario()):
        trouble(left)
        settle(left, one_by_one=one_by_one, slowly=slowly)
        check(left)


@pytest.mark.parametrize("one_by_one", [False, True])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_once_a_victim_was_told_its_beneficiary_runs(
    scenario: Callable[[], Scenario], one_by_one: bool
) -> None:
    toy, phases = scenario()
    before = {uid: pod.node for uid, pod in toy.pods.items() if pod.node}
    ends = set()
    for left in crashes(toy, phases):
        settle(left, one_by_one=one_by_one, slowly=True)
        runs = sum(bool(pod.node) for pod in left.of("new")) >= left.gangs["new"].least
        kept = all(uid in left.pods and left.pods[uid].node == node for uid, node in before.items())
        for key in {pod.gang for pod in toy.pods.values()}:
            stayed = sum(uid in before for uid in left.pods if left.pods[uid].gang == key)
            least = left.gangs[key].least
            assert stayed == 0 or stayed >= least, f"only a part of {key} had to go"
        assert runs or kept, "somebody had to go and nobody benefits"
        assert runs or not left.told
        ends.add(runs)
    assert True in ends


def two_at_once() -> tuple[Toy, tuple[Phase, ...], tuple[Phase, ...]]:
    toy = Toy({"a": 4, "b": 4, "c": 4})
    toy.gang("old", 2, ("a", "b"))
    toy.gang("tiny", 4, ("c",))
    toy.gang("side", 2, ("b",))
    toy.gang("new", 4, ("",))
    toy.gang("next", 4, ("", ""))
    first = preemption("new", orders(toy, "new", ("c",)), victims(toy, "tiny-0"))
    names = ("old-0", "old-1", "side-0")
    places = orders(toy, "next", ("a", "b"))
    return toy, first, preemption("next", places, victims(toy, *names))


@pytest.mark.parametrize("one_by_one", [False, True])
def test_two_preemptions_at_once_do_not_confuse_each_other(one_by_one: bool) -> None:
    toy, first, second = two_at_once()
    for between in crashes(toy, first):
        for left in crashes(between, second):
            settle(left, one_by_one=one_by_one, slowly=False)
            check(left)


class Blocking(Toy):
    """A cluster in which a disruption budget lets nobody go for a while."""

    patience = 3

    def apply(self, step: Step) -> None:
        """Do what a step says, unless it is blocked."""
        if isinstance(step, Evict) and self.patience:
            self.patience -= 1
            return
        super().apply(step)


def test_blocked_evictions_are_asked_for_again_until_they_happen() -> None:
    toy, phases = one_for_one()
    toy = Blocking(**vars(toy))
    for phase in phases[:2]:
        for step in phase:
            toy.apply(step)
    settle(toy, one_by_one=True, slowly=True)
    check(toy)
    assert [pod.node for pod in toy.of("new")] == ["a", "b"]


def test_a_finished_cluster_needs_nothing() -> None:
    toy = Toy({"a": 4})
    toy.gang("runs", 2, ("a", "a"))
    toy.gang("waits", 2, ("", ""))
    assert resume(toy.seen()) == ()


def test_marks_without_complete_promises_are_taken_back() -> None:
    toy, phases = one_for_one()
    promises, marks = phases[0], phases[1]
    toy.apply(promises[0])
    toy.apply(marks[0])
    settle(toy, one_by_one=False, slowly=True)
    check(toy)
    assert not toy.told
    assert [pod.node for pod in toy.of("old")] == ["a", "b"]


def test_the_rest_of_a_gang_goes_with_its_marked_part() -> None:
    toy, phases = one_for_one()
    for step in (*phases[0], phases[1][0], *phases[2][:1]):
        toy.apply(step)
    settle(toy, one_by_one=True, slowly=True)
    check(toy)
    assert [pod.node for pod in toy.of("new")] == ["a", "b"]
    assert [pod.node for pod in toy.of("old")] == ["", ""]


def after(scenario: Callable[[], Scenario], count: int) -> tuple[Toy, tuple[Phase, ...]]:
    """A cluster after so many phases, and those that are left."""
    toy, phases = scenario()
    for phase in phases[:count]:
        for step in phase:
            toy.apply(step)
    return toy, phases[count:]


def test_a_victim_that_is_not_needed_any_more_is_spared() -> None:
    toy, _ = after(two_gangs_go, 2)
    toy.nodes["b"] += 2
    (spare,) = resume(toy.seen())
    assert isinstance(spare, Spare)
    assert spare.pod.name == "tiny-0"
    settle(toy, one_by_one=False, slowly=False)
    check(toy)
    assert [pod.node for pod in toy.of("new")] == ["a", "b"]
    assert [pod.node for pod in toy.of("tiny")] == ["b"]


def test_victims_are_spared_while_those_who_leave_anyway_make_room() -> None:
    toy, _ = after(two_gangs_go, 2)
    for key in ("old", "also"):
        toy.gangs[key].deleted = True
    for pod in (*toy.of("old"), *toy.of("also")):
        pod.leaving = True
    toy.nodes["b"] += 2
    steps = resume(toy.seen())
    assert [step.pod.name for step in steps if isinstance(step, Spare)] == ["tiny-0"]
    assert any(isinstance(step, Await) for step in steps)


def test_once_there_is_room_victims_are_spared_but_for_the_rest_of_broken_gangs() -> None:
    toy, left = after(two_gangs_go, 2)
    toy.apply(left[0][0])
    toy.nodes |= {"a": 8, "b": 8}
    steps = resume(toy.seen())
    assert {step.pod.name for step in steps if isinstance(step, Spare)} == {"also-0", "tiny-0"}
    assert [step.pod.name for step in steps if isinstance(step, Evict)] == ["old-1"]
    assert isinstance(steps[-1], Bind)


def test_the_rest_is_bound_where_the_note_on_the_first_pod_says() -> None:
    toy, left = after(plain_start, 1)
    toy.nodes |= {"A": 40}
    (bind,) = resume(toy.seen())
    assert isinstance(bind, Bind)
    wanted = [order for step in left[0] if isinstance(step, Bind) for order in step.orders]
    assert list(bind.orders) == wanted


def test_a_beneficiary_whose_pod_was_made_anew_still_gets_the_place() -> None:
    toy, _ = after(one_for_one, 3)
    a_pod_of_the_beneficiary_is_made_anew(toy)
    (place,) = resume(toy.seen())
    assert isinstance(place, Place)
    assert [pod.name for pod in place.pods] == ["new-0"]
    settle(toy, one_by_one=True, slowly=False)
    check(toy)
    assert [pod.node for pod in toy.of("new")] == ["a", "b"]


def test_a_gang_that_has_begun_waits_for_missing_pods_until_it_is_overdue() -> None:
    toy, _ = after(plain_start, 1)
    missing = toy.of("new")[2]
    del toy.pods[missing.uid]
    assert resume(toy.seen()) == ()
    (apart,) = resume(toy.seen(frozenset({"new"})))
    assert isinstance(apart, TakeApart)
    assert [pod.name for pod in apart.pods] == ["new-0"]


def test_marks_on_pods_of_no_gang_are_taken_back() -> None:
    toy, _ = after(one_for_one, 2)
    toy.gangs["old"].deleted = True
    toy.delete("new")
    assert {step.pod.name for step in resume(toy.seen()) if isinstance(step, Spare)} == {
        "old-0",
        "old-1",
    }


def test_owners_that_can_be_are_suspended_before_their_pods_go() -> None:
    toy, phases = owners_are_suspended()
    for phase in phases[:2]:
        for step in phase:
            toy.apply(step)
    (step,) = resume(toy.seen())
    assert step == phases[2][0]
    toy.apply(step)
    assert set(resume(toy.seen())) == set(phases[3])
