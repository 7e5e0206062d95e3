"""Queues and the policy of a cluster are what its objects say, as far as they make sense."""

import random
import re

import pytest
from msgspec.structs import replace
from tests.worlds.kubernetes.config.samples import (
    names,
    policy,
    queue,
    thing,
    verdict,
    with_kept,
)

from ganglion.extensions import load
from ganglion.model.fleet.levels import Level
from ganglion.model.fleet.node import Node
from ganglion.model.policy import Entitlement, Policy
from ganglion.model.queue import Victims
from ganglion.model.resources import Amount
from ganglion.specs.policy.policy import parse_policy
from ganglion.worlds.kubernetes.config.read import configuration
from ganglion.worlds.kubernetes.config.status import LONGEST_MESSAGE
from ganglion.worlds.kubernetes.config.verdicts import AcceptedReason
from ganglion.worlds.kubernetes.queue_config import plugin_check


def test_queues_are_those_that_a_file_of_the_same_words_makes() -> None:
    text = """
preset: kai
preemption: {delay: 5m}
queues:
- {name: org, quota: {H100: 64, cpu: 0.5}}
- name: team
  parent: org
  quota: {H100: {gpus: 32, cpus: 256, memory: 2TiB}}
  borrowing_limit: {H100: 8}
  weight: 3
  strict: true
  preemption: {preempt: never, protected: 1h}
  flavors: {order: [H100], borrow_first: false}
  timeshare: 30m
"""
    found = configuration(
        [
            queue(
                "team",
                parent="org",
                quota={"H100": {"gpus": 32, "cpus": 256, "memory": "2TiB"}},
                borrowing_limit={"H100": 8},
                weight=3,
                strict=True,
                preemption={"preempt": "never", "protected": "1h"},
                flavors={"order": ["H100"], "borrow_first": False},
                timeshare="30m",
            ),
            queue("org", quota={"H100": 64, "cpu": 0.5}),
        ],
        [policy(preset="kai", preemption={"delay": "5m"})],
    )
    said = parse_policy(text)
    assert found.policy == said.policy
    assert found.queues == said.queues
    assert {each.reason for each in found.verdicts} == {AcceptedReason.ACCEPTED}


def test_without_objects_the_built_in_policy_decides_over_no_queues() -> None:
    found = configuration([], [])
    assert (found.policy, found.queues, found.verdicts) == (Policy(), (), ())


@pytest.mark.parametrize(
    ("spec", "place"),
    [
        ({"quota": {"H100": "-1"}}, "spec.quota.H100: a number of GPUs cannot be negative"),
        ({"quota": {"H100": True}}, "spec.quota.H100: "),
        ({"limits": {"H100": {"gpu": 1, "gpus": 2}}}, "spec.limits.H100.gpus: "),
        ({"preemption": {"preempt": "often"}}, "spec.preemption.preempt: `often`"),
        ({"timeshare": "soon"}, "spec.timeshare: "),
        ({"weigth": 3}, "spec.weigth: unknown key `weigth` (did you mean `weight`?)"),
        ({"limit": {"*": 4}, "borrowing_limit": {"*": 1}}, "spec.borrowing_limit.*: says the same"),
        ({"parent": "No Such"}, "spec.parent: `No Such` is not a usable name"),
        ({"flavors": ["H100"]}, "spec.flavors: expected keys and values"),
    ],
)
def test_a_wrong_queue_is_set_apart_and_all_others_count(
    spec: dict[str, object], place: str
) -> None:
    found = configuration([queue("good"), queue("bad", 7, **spec), queue("more")], [])
    assert names(found) == ["good", "more"]
    bad = verdict(found, "bad")
    assert (bad.accepted, bad.reason, bad.generation, bad.spec) == (
        False,
        AcceptedReason.INVALID,
        7,
        None,
    )
    assert bad.message.startswith(place)
    assert verdict(found, "good").accepted


PATH = re.compile(r"(?:^|; )(spec[^:]*): ")
EVERYTHING = {
    "weigth": 3,
    "parent": "No Such",
    "quota": {"H100": "-1", "T4": "x"},
    "limit": {"*": 4},
    "borrowing_limit": {"*": 1},
    "namespaces": {"nmaes": ["a"], "names": 3},
    "max_priority": "high",
}


def test_everything_that_is_wrong_with_a_queue_is_told_at_once_with_its_path() -> None:
    said = verdict(configuration([queue("bad", **EVERYTHING)], []), "bad")
    assert sorted(PATH.findall(said.message)) == [
        *("spec.borrowing_limit.*", "spec.max_priority", "spec.namespaces"),
        *("spec.namespaces.names", "spec.parent", "spec.quota.H100", "spec.quota.T4"),
        "spec.weigth",
    ]


def test_everything_that_is_wrong_with_a_policy_is_told_at_once_with_its_path() -> None:
    booking = {"name": "b", "begin": "noon", "users": ["ada"]}
    bad = policy(
        ordr="fair", evict={"restart": "5"}, heads_only=True, queues=[], bookings=[booking]
    )
    said = verdict(configuration([], [bad]), "default", "Policy")
    assert sorted(PATH.findall(said.message)) == [
        *("spec.bookings[0]", "spec.bookings[0]", "spec.bookings[0].begin"),
        *("spec.bookings[0].users", "spec.evict.restart", "spec.heads_only", "spec.ordr"),
        "spec.queues",
    ]
    assert said.message.endswith("; the built-in policy decides")


@pytest.mark.parametrize("wrong", [True, False])
def test_a_message_has_room_for_a_status_and_counts_what_it_leaves_out(wrong: bool) -> None:
    amounts = {f"flavor-{n:03}": "many" if wrong else n for n in range(200)}
    found = configuration([queue("bad", quota=amounts)], [], flavors=["H100"])
    message = verdict(found, "bad").message
    assert len(message) < LONGEST_MESSAGE
    assert message.startswith("spec.quota.flavor-000: ")
    more = re.search(r"; and (\d+) more$", message)
    assert more
    assert message.count("spec.quota.") + int(more[1]) == 200


def test_all_plugins_that_a_policy_lacks_are_told_at_once() -> None:
    lacking = policy(scores=["no-such"], filters=["none-such"])
    found = configuration([], [lacking], check=plugin_check(load))
    message = verdict(found, "default", "Policy").message
    assert "spec.scores: " in message
    assert "spec.filters: " in message


def test_a_spec_that_is_no_json_at_all_is_set_apart() -> None:
    found = configuration([queue("bad", quota={"H100": float("nan")}), queue("good")], [])
    assert names(found) == ["good"]
    assert verdict(found, "bad").reason is AcceptedReason.INVALID


def test_the_last_spec_that_was_accepted_counts_while_the_present_one_is_wrong() -> None:
    bad = with_kept(queue("team", 5, quota={"H100": "lots"}), 4, quota={"H100": 8})
    found = configuration([bad], [])
    assert found.queues[0].quota == {"H100": Amount(gpu_milli=8000)}
    said = verdict(found, "team")
    assert not said.accepted
    assert said.message.startswith("spec.quota.H100: ")
    assert said.message.endswith("generation 4 stays in force")
    assert (said.spec, said.spec_generation) == ({"quota": {"H100": 8}}, 4)


def test_a_right_spec_counts_whatever_was_accepted_before() -> None:
    found = configuration([with_kept(queue("team", 5, weight=2), 4, weight="heavy")], [])
    assert found.queues[0].over_quota_weight == 2
    assert verdict(found, "team").accepted


def test_a_status_that_somebody_spoilt_counts_for_nothing() -> None:
    spoilt = replace(queue("team", weight="x"), status={"inForce": {"spec": "weight"}})
    found = configuration([spoilt, queue("other")], [])
    assert names(found) == ["other"]


def test_queues_without_their_parent_are_set_apart_with_everything_under_them() -> None:
    found = configuration(
        [queue("a", parent="team-x"), queue("b", parent="a"), queue("team-z"), queue("c")], []
    )
    assert names(found) == ["c", "team-z"]
    first, second = verdict(found, "a"), verdict(found, "b")
    assert (first.reason, second.reason) == (AcceptedReason.NO_PARENT, AcceptedReason.NO_PARENT)
    assert first.message == "spec.parent: there is no queue `team-x` (did you mean `team-z`?)"
    assert "`a` is set apart itself" in second.message


def test_a_wrong_parent_that_keeps_its_earlier_spec_keeps_its_children() -> None:
    org = with_kept(queue("org", 2, weight="much"), 1, weight=2)
    found = configuration([org, queue("team", parent="org")], [])
    assert names(found) == ["org", "team"]
    assert verdict(found, "team").accepted


def test_a_circle_is_set_apart_and_nothing_else() -> None:
    found = configuration(
        [
            queue("a", parent="c"),
            queue("b", parent="a"),
            queue("c", parent="b"),
            queue("under", parent="b"),
            queue("self", parent="self"),
            queue("good"),
        ],
        [],
    )
    assert names(found) == ["good"]
    for each in "abc":
        assert verdict(found, each).reason is AcceptedReason.CIRCLE
        assert "a > b > c > a" in verdict(found, each).message
    assert verdict(found, "self").reason is AcceptedReason.CIRCLE
    assert verdict(found, "under").reason is AcceptedReason.NO_PARENT


def test_who_closes_a_circle_goes_back_to_where_it_was() -> None:
    mover = with_kept(queue("a", 2, parent="b"), 1)
    found = configuration([mover, with_kept(queue("b", 1, parent="a"), 1, parent="a")], [])
    assert names(found) == ["a", "b"]
    assert verdict(found, "a").reason is AcceptedReason.CIRCLE
    assert verdict(found, "a").message.endswith("generation 1 stays in force")
    assert verdict(found, "b").accepted


def test_what_is_doubtful_between_queues_is_told_and_stops_nobody() -> None:
    found = configuration(
        [queue("org", quota={"H100": 8}), queue("team", parent="org", quota={"H100": 16})], []
    )
    assert names(found) == ["org", "team"]
    team = verdict(found, "team")
    assert (team.accepted, team.reason) == (True, AcceptedReason.WARNED)
    assert "above that of its parent `org`" in team.message
    assert "guaranteed 16 GPUs together" in verdict(found, "org").message


def test_a_flavor_that_no_node_has_is_told_of() -> None:
    found = configuration([queue("a", quota={"h100": 8, "H200": 1})], [], flavors=["H100"])
    assert found.queues[0].quota.keys() == {"H100", "H200"}
    assert verdict(found, "a").message.startswith("spec.quota.H200: no node has the flavor `H200`")


def test_a_wrong_policy_leaves_the_accepted_one_in_force() -> None:
    bad = with_kept(policy(generation=3, order="fastest"), 2, preset="kai")
    found = configuration([], [bad])
    assert found.policy.entitlement is Entitlement.KAI
    said = verdict(found, "default", "Policy")
    assert not said.accepted
    assert said.message.startswith("spec.order: `fastest`")
    assert said.message.endswith("generation 2 stays in force")


def test_a_wrong_policy_that_was_never_right_leaves_the_built_in_one() -> None:
    found = configuration([queue("a")], [policy(evict={"restart": "later"})])
    assert found.policy == Policy()
    assert names(found) == ["a"]
    assert verdict(found, "default", "Policy").message.endswith("the built-in policy decides")


def test_queues_have_objects_of_their_own() -> None:
    found = configuration([], [policy(queues=[{"name": "a"}])])
    assert verdict(found, "default", "Policy").message.startswith("spec.queues: ")


def test_only_the_named_policy_decides() -> None:
    found = configuration([], [policy("next", preset="kai"), policy(preset="kueue")])
    assert found.policy.entitlement is Entitlement.QUOTA
    assert verdict(found, "next", "Policy").reason is AcceptedReason.UNUSED
    assert configuration([], [policy("next", preset="kai")], in_force="next").policy == (
        parse_policy("preset: kai").policy
    )


def test_rules_that_a_queue_leaves_out_are_those_of_the_policy() -> None:
    rules = {"preempt": "any", "reclaim": "never"}
    found = configuration([queue("a", preemption={"delay": "5m"})], [policy(preemption=rules)])
    assert found.queues[0].preemption is not None
    assert found.queues[0].preemption.preempt is Victims.ANY
    assert found.queues[0].preemption.delay_ms == 300_000


def test_bookings_of_nodes_that_there_are_count() -> None:
    entry = {"begin": "2026-12-01T08:00Z", "length": "4h"}
    books = [
        {"name": "cooling", "within": ["rack=r1"], **entry},
        {"name": "gone", "nodes": ["n9"], **entry},
    ]
    found = configuration([], [policy(bookings=books)])
    fleet = [Node("n1", 1000, 1024, domains={Level.RACK: "r1"}), Node("n2", 1000, 1024)]
    kept, wrong = found.bookings(fleet)
    assert [(each.name, each.nodes) for each in kept] == [("cooling", ("n1",))]
    assert wrong == ("spec.bookings[1].nodes[0]: there is no node `n9` (see: ganglion nodes)",)
    assert configuration([], []).bookings([]) == ((), ())


def test_the_order_of_the_objects_changes_nothing() -> None:
    items = [
        *(queue(f"q{n}", parent=f"q{n // 3}" if n else "", weight=n) for n in range(30)),
        *(queue(f"x{n}", parent=f"x{(n + 1) % 5}") for n in range(5)),
        thing("Queue", "odd", 1, {"weight": "none"}),
    ]
    first = configuration(items, [])
    for seed in range(5):
        random.Random(seed).shuffle(items)
        again = configuration(items, [])
        assert (again.queues, again.verdicts) == (first.queues, first.verdicts)
