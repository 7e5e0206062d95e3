"""Rules among pods as the engine's own words for topology."""

from typing import Any

from ganglion.model.fleet.levels import Level
from ganglion.model.workload import Topology
from ganglion.worlds.kubernetes.feasibility.reading import needs_of
from ganglion.worlds.kubernetes.pod_index.fleet import Fleet
from ganglion.worlds.kubernetes.pod_index.pods import PodIndex
from ganglion.worlds.kubernetes.pod_rules.levels import levels_of
from tests.worlds.kubernetes.feasibility.make import (
    HOST,
    ZONE,
    apart,
    crowd,
    fleet,
    near,
    node,
    pod,
    port,
    spread,
    term,
    zones,
)

JOB = {"job": "j"}
LEVELS = {HOST: Level.NODE, ZONE: Level.ZONE, "rack": Level.RACK}
THERE = zones(a="x", b="x", c="y")


def hint(
    count: int = 2, them: PodIndex | None = None, there: Fleet = THERE, **spec: Any
) -> Topology:
    return levels_of(needs_of(pod(labels=JOB, **spec)), count, them or crowd(), there, LEVELS)


def test_pods_that_want_nothing_lie_anywhere() -> None:
    assert hint() == Topology()


def test_a_single_pod_needs_no_hint() -> None:
    assert hint(1, affinity=apart(term(labels=JOB))) == Topology()


def test_pods_that_keep_away_from_each_other_share_no_domain() -> None:
    assert hint(affinity=apart(term(labels=JOB))) == Topology(forbidden=Level.NODE)
    both = apart(term(labels=JOB), term(ZONE, labels=JOB))
    assert hint(affinity=both) == Topology(forbidden=Level.ZONE)
    some = fleet(node("a", {"rack": "r"}), node("b"))
    assert hint(affinity=apart(term("rack", labels=JOB)), there=some) == Topology()
    assert hint(affinity=apart(term(labels={"job": "other"}))) == Topology()
    assert hint(affinity=apart(term("unknown", labels=JOB))) == Topology()


def test_pods_that_want_to_be_near_each_other_share_the_narrowest_domain() -> None:
    both = near(term(ZONE, labels=JOB), term("rack", labels=JOB))
    assert hint(affinity=both) == Topology(required=Level.RACK)
    assert hint(affinity=near(term("unknown", labels=JOB))) == Topology()
    assert hint(affinity=near(term(ZONE, labels={"job": "other"}))) == Topology()


def test_pods_that_find_company_already_may_lie_in_several_domains() -> None:
    them = crowd((pod("old", labels=JOB), "a"))
    assert hint(them=them, affinity=near(term(ZONE, labels=JOB))) == Topology()


def test_pods_with_a_port_of_the_node_need_a_node_each() -> None:
    assert hint(containers=[port(80)]) == Topology(forbidden=Level.NODE)


def test_pods_of_which_no_node_holds_two_need_a_node_each() -> None:
    amounts = ({"ephemeral-storage": 3}, {"ephemeral-storage": 2})
    there = fleet(node("a", allocatable=amounts[0]), node("b", allocatable=amounts[1]))

    def asking(disk: int) -> Topology:
        box = {"name": "main", "resources": {"requests": {"ephemeral-storage": disk}}}
        return hint(there=there, containers=[box])

    assert asking(2) == Topology(forbidden=Level.NODE)
    assert asking(1) == Topology()


def test_thinly_spread_pods_have_a_domain_each_as_long_as_there_are_enough() -> None:
    even: dict[str, Any] = {"topologySpreadConstraints": [spread(ZONE, JOB)]}
    assert hint(2, **even) == Topology(forbidden=Level.ZONE)
    assert hint(3, **even) == Topology()
    crowded = crowd((pod("old", labels=JOB), "a"))
    assert hint(2, crowded, **even) == Topology()
    assert hint(2, topologySpreadConstraints=[spread(ZONE, JOB, 2)]) == Topology()
    assert hint(2, topologySpreadConstraints=[spread(ZONE, {"job": "other"})]) == Topology()
    assert hint(2, topologySpreadConstraints=[spread("unknown", JOB)]) == Topology()
