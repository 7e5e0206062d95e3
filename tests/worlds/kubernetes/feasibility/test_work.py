"""How much work a question is, counted in pods looked at."""

from collections.abc import Iterator
from typing import Any

import pytest

from ganglion.worlds.kubernetes.feasibility.needs import meant
from ganglion.worlds.kubernetes.feasibility.reading import needs_of
from ganglion.worlds.kubernetes.pod_index import anti_affinity, tallies
from ganglion.worlds.kubernetes.pod_index.fleet import Fleet
from ganglion.worlds.kubernetes.pod_index.pods import PodIndex
from ganglion.worlds.kubernetes.pod_rules.barred import barred
from ganglion.worlds.kubernetes.types.pod import Pod
from tests.worlds.kubernetes.feasibility.make import (
    HOST,
    ZONE,
    Json,
    apart,
    crowd,
    fleet,
    near,
    node,
    pod,
    spread,
    term,
)

NODES, PODS = 100, 2000


class Looks:
    """Counts the pods that are held against a pattern."""

    def __init__(self) -> None:
        self.count = 0

    def meant(self, *arguments: Any) -> bool:
        self.count += 1
        return meant(*arguments)

    def taken(self) -> int:
        """Since it was last asked."""
        count, self.count = self.count, 0
        return count


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Looks]:
    made = Looks()
    monkeypatch.setattr(tallies, "meant", made.meant)
    monkeypatch.setattr(anti_affinity, "meant", made.meant)
    yield made


def member(number: int) -> Pod:
    job = f"job-{number // 20}"
    labels = {"app": "train", "job": job, "index": str(number)}
    keeps: Json = {"affinity": apart(term(labels={"job": job}))} if number < 400 else {}
    return pod(f"p{number}", labels=labels, **keeps)


def place() -> tuple[PodIndex, Fleet]:
    there = fleet(*(node(f"n{i}", {ZONE: f"z{i % 4}"}) for i in range(NODES)))
    return crowd(*((member(i), f"n{i % NODES}") for i in range(PODS))), there


def test_a_pod_without_needs_looks_only_at_those_that_may_mean_it(looks: Looks) -> None:
    them, there = place()
    assert barred(needs_of(pod(labels={"app": "serve"})), them, there) == {}
    assert looks.taken() == 0
    assert len(barred(needs_of(pod(labels={"job": "job-0"})), them, there)) == 20
    assert looks.taken() == 1


def test_a_new_pattern_looks_only_at_pods_with_its_rarest_label(looks: Looks) -> None:
    them, there = place()
    asked = term(HOST, labels={"app": "train", "job": "job-50"})
    assert len(barred(needs_of(pod(affinity=apart(asked))), them, there)) == 20
    assert looks.taken() == 20


@pytest.mark.parametrize(
    "spec",
    [
        {"affinity": near(term(ZONE, labels={"app": "train"}))},
        {"affinity": apart(term(HOST, labels={"app": "train"}))},
        {"topologySpreadConstraints": [spread(ZONE, {"app": "train"})]},
    ],
)
def test_a_pattern_that_is_known_looks_only_at_what_has_changed(looks: Looks, spec: Any) -> None:
    them, there = place()
    asked = needs_of(pod(**spec))
    barred(asked, them, there)
    assert looks.taken() == PODS
    barred(asked, them, there)
    assert looks.taken() == 0
    them.drop("p7")
    them.put(member(7), "n3")
    barred(asked, them, there)
    assert looks.taken() == 2


def test_a_pod_that_comes_is_held_against_no_pattern(looks: Looks) -> None:
    them, there = place()
    for number in range(30):
        asked = term(HOST, labels={"job": f"job-{number}"})
        barred(needs_of(pod(affinity=apart(asked))), them, there)
    looks.taken()
    them.put(member(7), "n3")
    assert looks.taken() == 0


def test_a_pod_that_is_as_it_was_changes_nothing(looks: Looks) -> None:
    them, there = place()
    asked = needs_of(pod(affinity=apart(term(HOST, labels={"job": "job-0"}))))
    barred(asked, them, there)
    looks.taken()
    them.put(member(7), "n7")
    barred(asked, them, there)
    assert looks.taken() == 0
