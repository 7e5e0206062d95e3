"""On small clusters the indexes say what comparing every pod with every pod says."""

from random import Random

import msgspec
import pytest

from ganglion.worlds.kubernetes.feasibility.reading import needs_of
from ganglion.worlds.kubernetes.pod_index.fleet import Fleet
from ganglion.worlds.kubernetes.pod_index.pods import PodIndex
from ganglion.worlds.kubernetes.pod_rules.barred import barred
from ganglion.worlds.kubernetes.pod_rules.gang_check import check
from ganglion.worlds.kubernetes.types.node import Node
from ganglion.worlds.kubernetes.types.pod import Pod
from tests.effort import sample
from tests.worlds.kubernetes.feasibility import slow
from tests.worlds.kubernetes.feasibility.dice import SPACES, some_node, some_pod
from tests.worlds.kubernetes.feasibility.make import crowd, fleet


def leaving(each: Pod) -> Pod:
    meta = msgspec.structs.replace(each.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    return msgspec.structs.replace(each, metadata=meta)


def some_place(dice: Random) -> tuple[dict[str, Node], list[tuple[Pod, str]], Fleet, PodIndex]:
    nodes = slow.by_name(some_node(dice, f"n{i}") for i in range(dice.randint(1, 5)))
    pods = [some_pod(dice, f"p{i}", 0.2) for i in range(dice.randint(0, 7))]
    pods = [leaving(each) if dice.random() < 0.15 else each for each in pods]
    placed = [(each, dice.choice(list(nodes))) for each in pods]
    made = crowd(*placed)
    for name, labels in SPACES.items():
        made.put_namespace(name, labels)
    return nodes, placed, fleet(*nodes.values()), made


@pytest.mark.parametrize("seed", sample(range(40), 2))
def test_one_pod_is_barred_from_exactly_the_nodes_that_will_not_do(seed: int) -> None:
    dice = Random(seed)
    for _ in range(50):
        nodes, placed, there, them = some_place(dice)
        for at in range(4):
            new = some_pod(dice, f"new{at}")
            closed = barred(needs_of(new), them, there)
            open_ = [n for n in nodes if slow.fits(new, n, nodes, placed, SPACES)]
            assert sorted(nodes.keys() - closed.keys()) == sorted(open_)


@pytest.mark.parametrize("seed", sample(range(40), 2))
def test_one_member_passes_the_check_on_exactly_the_nodes_that_are_open_to_it(seed: int) -> None:
    dice = Random(1000 + seed)
    for _ in range(50):
        nodes, _, there, them = some_place(dice)
        new = some_pod(dice, "new")
        closed = barred(needs_of(new), them, there)
        passed = [name for name in nodes if check([(new, name)], them, there) is None]
        open_ = [n for n in nodes if n not in closed and slow.allowed(new, nodes[n])]
        assert sorted(open_) == sorted(passed)


@pytest.mark.parametrize("seed", sample(range(60), 2))
def test_a_gang_passes_exactly_when_all_members_may_be_there_together(seed: int) -> None:
    dice = Random(2000 + seed)
    passed = 0
    for _ in range(60):
        nodes, placed, there, them = some_place(dice)
        kinds = [some_pod(dice, f"kind{i}", 0.25) for i in range(dice.randint(1, 2))]
        members = [
            (pod_like(dice.choice(kinds), f"m{at}"), dice.choice(list(nodes)))
            for at in range(dice.randint(2, 4))
        ]
        expected = slow.together(members, nodes, placed, SPACES)
        assert (check(members, them, there) is None) == expected, members
        passed += expected
    assert passed


def pod_like(kind: Pod, name: str) -> Pod:
    meta = msgspec.structs.replace(kind.metadata, name=name, uid=name)
    return msgspec.structs.replace(kind, metadata=meta)


@pytest.mark.parametrize("seed", sample(range(20), 2))
def test_indexes_that_were_changed_a_thousand_times_are_as_good_as_new(seed: int) -> None:
    dice = Random(3000 + seed)
    nodes, _, there, them = some_place(dice)
    questions = [needs_of(some_pod(dice, "q", 0.6)) for _ in range(10)]
    living: dict[str, tuple[Pod, str]] = {}
    for uid in list(them._residents):
        them.drop(uid)
    for step in range(1000):
        uid = f"u{dice.randint(0, 30)}"
        if dice.random() < 0.4:
            them.drop(uid)
            living.pop(uid, None)
        else:
            living[uid] = (some_pod(dice, uid, 0.2), dice.choice(list(nodes)))
            them.put(*living[uid])
        if step % 50 == 0:
            fresh = crowd(*living.values())
            for name, labels in SPACES.items():
                fresh.put_namespace(name, labels)
            for each in questions:
                assert barred(each, them, there) == barred(each, fresh, there)
