"""Scenarios in Kueue's words: ours, and the published ones where they are at hand."""

from collections import Counter
from pathlib import Path

import pytest
from tests.conformance.files import DATA, SHARED, differences, results

from conformance.deviations import load_deviations
from conformance.formats import FORMATS
from conformance.kueue import schema as said
from conformance.kueue.check import places
from conformance.kueue.nodes import Ground
from conformance.kueue.play import play
from conformance.kueue.queues import queues_of
from conformance.kueue.setup import setup
from ganglion.model.errors import FieldError
from ganglion.model.events import GangSubmitted, QueueSet
from ganglion.model.fleet.levels import Level
from ganglion.scenarios.source import load_scenarios, typed
from ganglion.specs.policy.policy import resolve_policy

KUEUE = resolve_policy("kueue").policy
PUBLISHED = pytest.mark.skipif(
    not SHARED.is_dir(), reason=f"no scenarios in {SHARED}; set GANGLION_SCENARIOS to their folder"
)
MOST_DEVIATIONS = 5


def test_our_own_scenarios_end_as_the_rules_say() -> None:
    assert differences(DATA / "kueue.yaml", "kueue") == {}


def test_a_wrong_expectation_is_a_difference(tmp_path: Path) -> None:
    text = (DATA / "kueue.yaml").read_text("utf-8")
    for right, wrong in (
        ("admitted: [w]", "admitted: []"),
        ("low: within_queue", "low: reclaim"),
        ("running: [in]", "running: []"),
        ("{h1: 3}", "{h2: 3}"),
        ("main: 7", "main: 6"),
        ("gpu: two", "gpu: one"),
    ):
        assert right in text
        file = tmp_path / "wrong.yaml"
        file.write_text(text.replace(right, wrong), "utf-8")
        assert differences(file, "kueue"), right


def case(**more: object) -> said.Case:
    (scenario, *_) = load_scenarios(DATA / "kueue.yaml", FORMATS)
    data = {"id": "x", "workloads": [], **more}
    return typed(said.Case, data, scenario.path, scenario.document)


def test_a_cohort_owns_what_is_below_it_and_a_root_is_limited_to_that() -> None:
    quota = [{"flavor": "f", "gpu": {"nominal": 4, "borrow": 2, "lend": 1}}]
    asked = case(
        cohorts=[{"name": "c", "parent": "top", "quota": [{"flavor": "f", "gpu": {"nominal": 3}}]}],
        queues=[{"name": "q", "cohort": "c", "quota": quota}],
    )

    found = {each.name: each for each in queues_of(asked, lambda each: each)}

    assert list(found) == ["cohort:top", "cohort:c", "q"]
    assert [each.quota["f"].gpu_milli for each in found.values()] == [7000, 7000, 4000]
    assert found["cohort:top"].limit["f"].gpu_milli == 7000
    assert found["cohort:c"].limit == {}
    assert found["q"].limit["f"].gpu_milli == 6000
    assert found["q"].lend_limit["f"].gpu_milli == 1000


def test_priorities_keep_their_order_with_thresholds_among_them() -> None:
    queue = {
        "name": "q",
        "preemption": {"borrow_within_cohort": {"policy": "LowerPriority", "max_priority": 7}},
        "quota": [{"flavor": "f", "gpu": {"nominal": 1}}],
    }
    asked = case(
        queues=[queue],
        workloads=[
            {"name": name, "priority": priority, "req": {"gpu": 1}}
            for name, priority in (("low", -5), ("high", 2_000_000))
        ],
    )

    begun = setup(asked, {}, KUEUE)
    submitted = [each.gang.priority for each in begun.news if isinstance(each, GangSubmitted)]
    (rules,) = (each.queue.preemption for each in begun.before if isinstance(each, QueueSet))

    assert submitted == [0, 2]
    assert rules
    assert rules.threshold == 1


def test_levels_are_mapped_in_their_order() -> None:
    nodes = {"n": {"at": ["d", "z", "k", "r"], "gpu": 1}}
    ground = Ground(
        case(cluster_inline={"levels": ["dc", "zone", "block", "rack"], "nodes": nodes}), {}, True
    )

    assert [ground.level(name) for name in ("dc", "zone", "block", "rack", "host")] == [
        Level.REGION,
        Level.ZONE,
        Level.BLOCK,
        Level.RACK,
        Level.NODE,
    ]
    assert ground.key("n") == "d/z/k/r"


def test_mirrored_placements_are_equal_only_where_the_file_tells_of_ties() -> None:
    nodes = {name: {"gpu": 1} for name in ("n1", "n2", "n3")}
    workload = {"name": "w", "podsets": [{"count": 2, "per_pod": {"gpu": 1}}]}
    more = {"cluster_inline": {"levels": ["host"], "nodes": nodes}, "workloads": [workload]}
    for ties, different in (("any two", False), ("", True)):
        asked = case(**more, ties=ties)
        begun = setup(asked, {}, KUEUE)
        outcome = play(begun)
        expected = {"w": {"main": {"n2": 1, "n3": 1}}}

        assert Counter(pod.node for pod in outcome.first["w"].pods) == {"n1": 1, "n2": 1}
        assert bool(list(places(expected, outcome.first, begun.ground, asked))) is different


def test_a_mistake_is_told_with_its_place() -> None:
    with pytest.raises(FieldError, match="nominall") as error:
        case(queues=[{"name": "q", "quota": [{"flavor": "f", "gpu": {"nominall": 4}}]}])

    assert "queues" in error.value.key


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"cluster": "nowhere"}, "nowhere"),
        ({"workloads": [{"name": "w", "queue": "none", "req": {"gpu": 1}}]}, "none"),
        (
            {
                "workloads": [
                    {"name": "w", "req": {}, "running": {"placement": {"main": {"gone": 1}}}}
                ]
            },
            "gone",
        ),
    ],
)
def test_what_is_not_there_is_named(more: dict[str, object], named: str) -> None:
    with pytest.raises(FieldError, match=named):
        play(setup(case(**more), {}, KUEUE))


def test_pods_that_want_a_level_the_cluster_lacks_wait() -> None:
    podset = {"count": 1, "per_pod": {"gpu": 1}, "topology": {"required": "zone"}}
    cluster = {"levels": ["rack", "host"], "nodes": {"n": {"at": ["r"], "gpu": 1}}}
    asked = case(cluster_inline=cluster, workloads=[{"name": "w", "podsets": [podset]}])

    outcome = play(setup(asked, {}, KUEUE))

    assert (outcome.admitted, outcome.pending) == ([], ["w"])


def test_a_wish_for_topology_needs_a_flavor_that_has_one() -> None:
    podset = {"count": 1, "per_pod": {"gpu": 1}, "topology": {"preferred": "rack"}}
    asked = case(workloads=[{"name": "w", "podsets": [podset]}])

    outcome = play(setup(asked, {}, KUEUE))

    assert (outcome.admitted, outcome.pending) == ([], ["w"])


@PUBLISHED
def test_every_scenario_of_the_first_tier_passes_or_is_a_listed_deviation() -> None:
    found = results(SHARED / "kueue.yaml", "kueue")
    different = {each.id for each in found if each.tier == "1" and not each.passed}
    listed = load_deviations()

    assert different <= set(listed)
    assert len(different) <= MOST_DEVIATIONS
    second = [each.passed for each in found if each.tier == "2"]
    assert sum(second) * 100 >= len(second) * 85


@PUBLISHED
def test_every_weak_spot_is_outdone_by_the_default() -> None:
    found = results(SHARED / "kueue.yaml", "default")
    spots = {each.id: each.difference for each in found if each.tier == "kueue_weak_spots"}

    assert len(spots) >= 7
    assert [name for name, difference in spots.items() if difference] == []
