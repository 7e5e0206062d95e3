"""The policy in force: set, refused, kept, rolled back, without disturbing what runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from ganglion import extensions
from ganglion.api.policies import PolicyOutcome
from ganglion.engine.plugins.protocols import Plugins
from ganglion.ledger.records import Batch
from ganglion.model.errors import (
    Conflict,
    EnvironmentFault,
    FieldError,
    InputError,
    NotFound,
    PluginError,
)
from ganglion.model.events import (
    BookingRemoved,
    Event,
    NodeAdded,
    PolicySet,
    QueueRemoved,
    QueueSet,
)
from ganglion.model.fleet.levels import Level
from ganglion.model.policy import Order, Policy
from ganglion.model.queue import Queue
from ganglion.model.resources import Amount
from ganglion.server.commands import live, policies
from ganglion.server.main import _brought
from ganglion.server.recovery.recover import replayed
from ganglion.specs.policy.policy import parse_policy
from ganglion.specs.policy.presets import preset
from tests.server.conftest import NODES, Rig

TREE = "queues:\n- {name: default}\n- {name: org, quota: {H100: 16}}\n- {name: red, parent: org}\n"


def apply(rig: Rig, text: str, *, unknown: bool = False, name: str = "p.yaml") -> PolicyOutcome:
    found = rig.do(
        lambda draft: policies.set_policy(
            draft,
            parse_policy(text, name, policies.flavors_of(draft.state)),
            "ada",
            policies.APPLIED,
            allow_unknown_flavors=unknown,
        )
    )
    assert isinstance(found, PolicyOutcome)
    return found


def in_force(rig: Rig) -> Policy:
    with rig.service.read() as mind:
        return mind.state.config.policy


def queues(rig: Rig) -> set[str]:
    with rig.service.read() as mind:
        return set(mind.state.queues.by_name)


def test_a_policy_decides_from_the_next_cycle_on_and_leaves_jobs_alone(rig: Rig) -> None:
    rig.turn()
    rig.submit("a")
    rig.turn(2)
    began, stops = list(rig.machine.began), list(rig.machine.stops)
    found = apply(rig, "preset: kai\norder: fifo\n")
    rig.turn(2)
    assert found.version == 1
    assert in_force(rig).order is Order.FIFO
    assert (rig.machine.began, rig.machine.stops) == (began, stops)
    assert rig.state("a-1") == "RUNNING"


def test_a_policy_survives_a_crash_with_its_history(rig: Rig) -> None:
    apply(rig, "order: fifo # first\n")
    apply(rig, "preset: kueue\n")
    rig.crash()
    assert in_force(rig) == preset("kueue")
    with rig.service.read() as mind:
        first, second = mind.book.policies
        assert (first.version, first.user, first.text) == (1, "ada", "order: fifo # first\n")
        assert (second.version, str(second.cause)) == (2, "applied")
        assert first.at < second.at
        again = replayed(rig.ledger, Policy())
        assert again.book.policies == mind.book.policies
        assert again.state.config.policy == mind.state.config.policy


def test_a_policy_with_its_queues_is_one_transaction(rig: Rig) -> None:
    apply(rig, TREE)
    (cycle,) = [
        each for each in rig.ledger.cycles() if any(isinstance(e, PolicySet) for e in each.incoming)
    ]
    kinds = [type(event) for event in cycle.incoming]
    assert kinds == [QueueSet, QueueSet, PolicySet]
    assert queues(rig) == {"default", "org", "red"}
    apply(rig, "queues: [{name: default}]")
    assert queues(rig) == {"default"}


def test_what_cannot_be_written_is_not_in_force(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_batch: object) -> None:
        raise EnvironmentFault("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(rig.ledger, "append", full)
        with pytest.raises(EnvironmentFault):
            apply(rig, f"preset: kai\n{TREE}")
    assert in_force(rig) == Policy()
    assert queues(rig) == {"default"}
    assert apply(rig, f"preset: kai\n{TREE}").version == 1


def test_a_policy_that_changes_nothing_is_no_new_version(rig: Rig) -> None:
    apply(rig, TREE)
    head = rig.ledger.head
    again = apply(rig, f"# in other words\n{TREE}strict: false\n")
    assert (again.version, again.changes) == (1, ())
    assert rig.ledger.head == head


def test_a_file_without_queues_leaves_them_alone(rig: Rig) -> None:
    apply(rig, TREE)
    apply(rig, "preset: kai")
    assert queues(rig) == {"default", "org", "red"}


@pytest.mark.parametrize(
    ("text", "error", "says", "hint"),
    [
        ("queues:\n- {name: a, parent: b}\n- {name: b, parent: a}", FieldError,
         "p.yaml:2:queues[0].parent: the queue tree runs in a circle", "root"),
        ("queues: [{name: default, quota: {H100: -1}}]", FieldError,
         "p.yaml:1:queues[0].quota.H100: a number of GPUs cannot be negative, found `-1`", "GPUs"),
        ("queues:\n- {name: default, quota: {H100: 4}}\n- {name: b, parent: default,\n"
         "   quota: {H100: 8}}", FieldError,
         "p.yaml:4:queues[1].quota.H100: the quota of `b` is above that of its parent", "raise"),
        ("queues:\n- name: default\n  quota: {H200: 1}", FieldError,
         "p.yaml:3:queues[0].quota.H200: no node has the flavor `H200`", "did you mean `H100`?"),
        ("preset: default\nscores: [gangleon]", FieldError,
         "p.yaml:2:scores: there is no plugin gangleon among the scores", "installed are"),
        ("preset: default\npermits: budget", FieldError,
         "p.yaml:2:permits: there is no plugin budget among the permits", ""),
        ("preset: best", FieldError, "p.yaml:1:preset: there is no preset `best`", "presets are"),
        ("queues: [{name: default}, {name: default}]", FieldError,
         "p.yaml:1:queues[1].name: the queue `default` exists already", ""),
        ("order: [", InputError, "p.yaml:1", ""),
        ("bookings: [{name: x, nodes: [n7], from: 2030-01-01, for: 1h}]", FieldError,
         "p.yaml:1:bookings[0].nodes[0]: there is no node `n7`", "ganglion nodes"),
    ],
)  # fmt: skip
def test_a_wrong_policy_is_refused_whole_and_the_old_one_stays(
    rig: Rig, text: str, error: type[Exception], says: str, hint: str
) -> None:
    apply(rig, "preset: slurm-like")
    head = rig.ledger.head
    with pytest.raises(error) as caught:
        apply(rig, text)
    assert says in str(caught.value)
    assert hint in getattr(caught.value, "hint", "")
    assert in_force(rig) == preset("slurm-like")
    assert rig.ledger.head == head
    rig.submit("next")
    rig.turn(2)
    assert rig.state("next-1") == "RUNNING"


def test_a_queue_in_which_jobs_wait_is_not_removed(rig: Rig) -> None:
    apply(rig, TREE)
    for name in ("one", "two"):
        rig.submit(name, queue="red", hold=True)
    with pytest.raises(Conflict) as caught:
        apply(rig, "strict: true\nqueues:\n- {name: default}")
    assert str(caught.value).startswith("p.yaml:2:queues: the queue `red` is missing")
    assert "2 workloads: one-1, two-2" in str(caught.value)
    assert "ganglion update one-1 --queue" in caught.value.hint
    assert queues(rig) == {"default", "org", "red"}
    assert not in_force(rig).strict
    rig.do(lambda draft: live.cancel_all(draft, "ada"))
    apply(rig, "strict: true\nqueues:\n- {name: default}")
    assert queues(rig) == {"default"}


def test_a_queue_with_jobs_gets_no_queues_under_it_and_does_not_move(rig: Rig) -> None:
    apply(rig, TREE)
    rig.submit("a", queue="red")
    rig.turn(2)
    with pytest.raises(Conflict, match=r"p.yaml:5:queues\[3\]: the queue `red` holds 1 workload"):
        apply(rig, TREE.replace("- {name: red", "- {name: x, parent: red}\n- {name: red"))
    with pytest.raises(Conflict, match="`red` cannot move to `other`: it holds 1 workload: a-1"):
        apply(rig, TREE.replace("parent: org", "parent: other") + "- {name: other}")
    assert rig.state("a-1") == "RUNNING"


def test_unknown_flavors_may_be_allowed(rig: Rig) -> None:
    text = "queues: [{name: default, quota: {B300: 8}}]"
    rig.turn()
    with pytest.raises(FieldError, match="B300") as caught:
        apply(rig, text)
    assert "--allow-unknown-flavors" in caught.value.hint
    found = apply(rig, text, unknown=True)
    assert "B300" in found.warnings[0]


def test_what_is_odd_but_possible_is_a_warning(rig: Rig) -> None:
    rig.turn()
    found = apply(
        rig,
        "queues:\n- {name: org, quota: {H100: 8}}\n"
        "- {name: a, parent: org, quota: {H100: 6}}\n"
        "- {name: b, parent: org, quota: {H100: 6}, limit: {H100: 4}}\n"
        "- {name: c, parent: org, weight: 0}\n"
        "- {name: default, quota: {H100: 2}, lend_limit: {H100: 3}}\n",
    )
    together, limit, lent, nothing = found.warnings
    assert "guaranteed 12 GPUs together, `org` only 8" in together
    assert "guaranteed 6 GPUs, but may never use more than 4" in limit
    assert "`default` lends up to 3 GPUs of a quota of 2" in lent
    assert "`c` has weight 0 and no quota" in nothing


def test_checking_changes_nothing_and_tells_what_would(rig: Rig) -> None:
    head = rig.ledger.head
    with rig.service.read() as mind:
        found = policies.check(mind, parse_policy(f"strict: true\n{TREE}"))
    assert [each.key for each in found.changes][:2] == ["strict", "queues.org"]
    assert (found.version, rig.ledger.head, queues(rig)) == (0, head, {"default"})


def test_rolling_back_restores_knobs_and_queues_as_a_new_version(rig: Rig) -> None:
    apply(rig, f"preset: kai\n{TREE}")
    apply(rig, "preset: kueue\nqueues: [{name: default, quota: {H100: 3}}]")
    found = rig.do(lambda draft: policies.roll_back(draft, 1, "bob"))
    assert found.version == 3
    assert in_force(rig) == preset("kai")
    assert queues(rig) == {"default", "org", "red"}
    with rig.service.read() as mind:
        last = mind.book.policies[-1]
        assert (last.user, str(last.cause)) == ("bob", "rolled back to 1")
        assert last.text == f"preset: kai\n{TREE}"
        assert mind.state.queues.by_name["default"] == Queue("default")
    rig.do(lambda draft: policies.roll_back(draft, 0, "bob"))
    assert in_force(rig) == Policy()
    with pytest.raises(NotFound, match="no version 9"):
        rig.do(lambda draft: policies.roll_back(draft, 9, "bob"))


def test_a_policy_at_the_start_counts_when_it_is_new(rig: Rig) -> None:
    def start_with(text: str) -> None:
        rig.crash()
        file = parse_policy(text)
        rig.do(lambda draft: policies.keep(draft, file, "ada"))

    start_with("preset: kai")
    assert in_force(rig) == preset("kai")
    apply(rig, "preset: kueue")
    start_with("preset: kai")
    assert in_force(rig) == preset("kueue")
    start_with("preset: slurm-like")
    assert in_force(rig) == preset("slurm-like")
    with rig.service.read() as mind:
        causes = [str(each.cause) for each in mind.book.policies]
    assert causes == ["started with the server", "applied", "started with the server"]


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Policy]]:
    """Policies whose plugins the server has loaded to decide with, in order."""
    found: list[Policy] = []

    def load(policy: Policy) -> Plugins:
        found.append(policy)
        return extensions.load(policy)

    monkeypatch.setattr("ganglion.server.recovery.recover.load", load)
    yield found


def test_other_plugins_take_over_from_the_ledger(rig: Rig, loaded: list[Policy]) -> None:
    rig.submit("a")
    rig.turn(2)
    apply(rig, "order: fifo")
    rig.turn()
    assert loaded == []
    apply(rig, "scores: {bestfit: 3}")
    rig.turn()
    assert [each.scores for each in loaded] == [in_force(rig).scores]
    with rig.service.read() as mind:
        ((score, weight),) = mind.state.config.plugins.scores
        assert (score.name, weight) == ("bestfit", 3)
        mind.state.validate()
    assert rig.state("a-1") == "RUNNING"
    rig.submit("b")
    rig.turn(2)
    assert rig.state("b-2") == "RUNNING"


def test_a_plugin_that_is_gone_is_named_when_a_server_starts(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply(rig, "scores: [bestfit]")

    def load(policy: Policy) -> Plugins:
        raise PluginError("there is no plugin bestfit among the scores")

    monkeypatch.setattr("ganglion.server.recovery.recover.load", load)
    with pytest.raises(
        PluginError, match=r"version 1 of the policy .* no plugin bestfit"
    ) as caught:
        replayed(rig.ledger, Policy())
    assert "runbooks/policy.md" in caught.value.hint
    assert (Path(__file__).parents[3] / "docs/runbooks/policy.md").exists()


def test_a_queue_that_makes_no_sense_stops_no_other(rig: Rig) -> None:
    rig.turn()
    world = rig.world
    world.facts.extend(
        [
            QueueSet(1, Queue("orphan", parent="nowhere")),
            QueueSet(1, Queue("default", parent="default")),
            QueueRemoved(1, "nothing"),
            QueueSet(1, Queue("fine", quota={"H100": Amount(4_000)})),
        ]
    )
    rig.turn()
    assert queues(rig) == {"default", "fine"}
    rig.submit("a", queue="fine")
    rig.submit("b")
    rig.turn(2)
    assert (rig.state("a-1"), rig.state("b-2")) == ("RUNNING", "RUNNING")
    rig.crash()
    assert queues(rig) == {"default", "fine"}


def test_a_workload_that_makes_no_sense_stops_no_other(rig: Rig) -> None:
    rig.turn()
    for wrong in ({"queue": "nowhere"}, {"resources": {"gpus": -1}}, {"nodes": "4..2"}):
        with pytest.raises(InputError):
            rig.submit("bad", **wrong)
    rig.submit("never", force=True, resources={"gpus": 64})
    rig.submit("good")
    rig.turn(2)
    assert rig.state("good-2") == "RUNNING"
    assert rig.state("never-1") in ("QUEUED", "PENDING")


def test_a_queue_in_the_ledger_that_makes_no_sense_stops_no_other(rig: Rig) -> None:
    rig.turn()
    rig.submit("a")
    rig.turn(2)
    wrong: list[Event] = [
        QueueSet(5, Queue("orphan", parent="nowhere")),
        QueueRemoved(5, "nothing"),
        BookingRemoved(5, "none"),
        QueueSet(5, Queue("fine")),
    ]
    rig.ledger.append(Batch(5, wrong))
    rig.crash()
    assert queues(rig) == {"default", "fine"}
    rig.submit("b", queue="fine")
    rig.turn(2)
    assert (rig.state("a-1"), rig.state("b-2")) == ("RUNNING", "RUNNING")


def test_a_policy_with_queues_takes_them_over_from_the_cluster_file(rig: Rig) -> None:
    file = (Queue("default"), Queue("old"))
    rig.do(lambda draft: _brought(draft, None, file, "ada"))
    assert queues(rig) == {"default", "old"}
    apply(rig, "strict: true")
    rig.do(lambda draft: _brought(draft, None, (*file, Queue("more")), "ada"))
    assert queues(rig) == {"default", "old", "more"}
    apply(rig, "queues: [{name: default}, {name: new}]")
    rig.do(lambda draft: _brought(draft, None, file, "ada"))
    assert queues(rig) == {"default", "new"}


def test_a_policy_brings_its_bookings_on_the_nodes_of_a_domain(rig: Rig) -> None:
    rig.turn()
    rig.do(lambda draft: live.cordon(draft, "n0", ""))
    booking = "bookings:\n- {name: pump, within: %s, from: 2030-01-01, for: 2h}"
    with pytest.raises(FieldError, match=r"p.yaml:2:bookings\[0\].within: there is no rack `r1`"):
        apply(rig, booking % "rack=r1")
    for name in ("n0", "n1"):
        rig.world.facts.append(
            NodeAdded(9, replace(NODES[0], name=name, domains={Level.RACK: "r1"}))
        )
    rig.turn()
    found = apply(rig, booking % "rack=r1")
    assert [each.key for each in found.changes][:2] == ["bookings.pump", "bookings.pump.nodes"]
    with rig.service.read() as mind:
        (made,) = mind.state.timeline.bookings.all()
        assert made.nodes == ("n0", "n1")
    apply(rig, "order: fifo")
    rig.crash()
    with rig.service.read() as mind:
        assert mind.state.timeline.bookings.all() == [made]
    apply(rig, "bookings: []")
    with rig.service.read() as mind:
        assert mind.state.timeline.bookings.all() == []


def test_flavors_mean_those_of_the_fleet_in_any_case(rig: Rig) -> None:
    rig.turn()
    file = parse_policy("queues: [{name: default, quota: {h100: 4}}]")
    rig.do(lambda draft: policies.keep(draft, file, "ada"))
    with rig.service.read() as mind:
        assert mind.state.queues.by_name["default"].quota == {"H100": Amount(4_000)}
    rig.do(lambda draft: policies.keep(draft, file, "ada"))
    with rig.service.read() as mind:
        assert len(mind.book.policies) == 1
