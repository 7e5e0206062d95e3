"""Who may submit to which queue, and what labels and annotations may claim there."""

from typing import Any

import pytest
from msgspec import convert

from ganglion.worlds.kubernetes.cluster_view.orders import Bind, ObjectChanged
from ganglion.worlds.kubernetes.cluster_view.settings import Settings
from ganglion.worlds.kubernetes.config.read import configuration
from ganglion.worlds.kubernetes.config.verdicts import AcceptedReason
from ganglion.worlds.kubernetes.queue_config import QueueObjects
from ganglion.worlds.kubernetes.reasons.pod_reasons import why
from ganglion.worlds.kubernetes.types.meta import Anything
from tests.controlplane import manifests
from tests.worlds.kubernetes.config.samples import queue, verdict, with_kept
from tests.worlds.kubernetes.controller.stage import Body, Stage

CREATED_BY = "ganglion.dev/created-by"


def cluster(*queues: Anything, default: str = "default", **settings: Any) -> Stage:
    """A cluster of 8 GPUs with these `Queue` objects."""
    stage = Stage(settings=Settings(default_queue=default, **settings))
    tree = QueueObjects(default=default)
    tree.sift([ObjectChanged("", "queue", each.metadata.uid, each) for each in queues])
    found = tree.changed(())
    assert found
    stage.controller.scene.tenancy = found.tenancy
    stage.controller.configure(found.queues, stage.controller.scene.state.config.policy, stage.now)
    stage.show(manifests.node("n0", gpus=8))
    return stage


def space(stage: Stage, name: str, **labels: str) -> None:
    """A namespace is there, or has other labels."""
    body = {"metadata": {"name": name, "uid": f"ns-{name}", "labels": labels}}
    stage.controller.observe(
        [ObjectChanged("", "namespace", f"ns-{name}", convert(body, Anything))]
    )


def pod(
    name: str,
    to: str = "",
    namespace: str = "a",
    notes: dict[str, str] | None = None,
    **more: Any,
) -> Body:
    labels = {"ganglion.dev/queue": to} if to else {}
    return manifests.pod(name, namespace=namespace, labels=labels, annotations=notes, **more)


def claiming(priority: int) -> dict[str, str]:
    return {"ganglion.dev/priority": str(priority)}


def started(stage: Stage) -> list[str]:
    stage.turn()
    return sorted(p.pod.name for order in stage.ordered(Bind) for p in order.pods)


def told(stage: Stage, name: str) -> str:
    (found,) = (g for g, f in stage.controller.scene.gangs.founds.items() if f.name == name)
    return why(stage.controller.scene, found)


def test_only_namespaces_that_a_queue_names_may_submit_to_it() -> None:
    stage = cluster(queue("research", namespaces={"names": ["a"]}))
    stage.show(pod("mine", "research", "a"), pod("theirs", "research", "b"))
    assert started(stage) == ["mine"]
    assert told(stage, "theirs") == (
        "queue research takes no pods of namespace b: see its namespaces"
    )


def test_namespaces_are_selected_by_labels_that_their_users_cannot_write() -> None:
    selector = {
        "matchLabels": {"team": "a"},
        "matchExpressions": [{"key": "phase", "operator": "NotIn", "values": ["old"]}],
    }
    stage = cluster(queue("research", namespaces={"selector": selector}))
    space(stage, "a", team="a")
    space(stage, "b", team="a", phase="old")
    stage.show(pod("mine", "research", "a"), pod("theirs", "research", "b"))
    assert started(stage) == ["mine"]
    space(stage, "b", team="a")
    assert started(stage) == ["theirs"]  # the labels changed, and nothing else


def test_what_runs_goes_on_when_its_namespace_is_taken_off_the_queue() -> None:
    stage = cluster(queue("research", namespaces={"selector": {"matchLabels": {"team": "a"}}}))
    space(stage, "a", team="a")
    body = pod("mine", "research", "a")
    stage.show(body)
    assert started(stage) == ["mine"]
    space(stage, "a")
    stage.turn()
    assert stage.orders == []
    assert stage.nodes_of(next(iter(stage.controller.scene.attempts.by_gang))) == ["n0"]


@pytest.mark.parametrize(
    ("own", "takes"),
    [({}, ["a-pod"]), ({"names": ["b"]}, ["b-pod"]), (None, ["a-pod"])],
    ids=["empty", "own", "none"],
)
def test_a_queue_says_it_itself_or_the_one_above_does(own: Any, takes: list[str]) -> None:
    child = {} if own is None else {"namespaces": own}
    top = queue("top", namespaces={"names": ["a"]})
    stage = cluster(top, queue("leaf", parent="top", **child))
    stage.show(pod("a-pod", "leaf", "a"), pod("b-pod", "leaf", "b"))
    assert started(stage) == (takes if own != {} else [])


def test_a_queue_that_says_nothing_takes_all() -> None:
    stage = cluster(queue("research"))
    stage.show(pod("p", "research", "a"), pod("q", "research", "b"))
    assert started(stage) == ["p", "q"]


def test_pods_that_name_no_queue_have_the_one_of_their_namespace() -> None:
    stage = cluster(queue("research", namespaces={"names": ["a", "b"]}), queue("default", limit=0))
    space(stage, "a", **{"ganglion.dev/queue": "research"})
    stage.show(pod("p"))
    assert started(stage) == ["p"]
    (gang,) = stage.controller.scene.attempts.by_gang
    record = stage.controller.scene.record(gang)
    assert record
    assert record.gang.queue == "research"


def test_the_first_queue_does_not_stop_pods_that_name_none() -> None:
    stage = cluster(queue("research", namespaces={"names": ["a"]}))
    stage.show(pod("p", namespace="b"))
    assert started(stage) == ["p"]


def test_a_default_queue_of_another_name_exists_too() -> None:
    stage = cluster(default="misc")
    stage.show(pod("p"))
    assert started(stage) == ["p"]


def test_a_cluster_without_a_default_says_which_label_is_missing() -> None:
    stage = cluster(queue("research"), default="")
    stage.show(pod("p"))
    assert started(stage) == []
    assert told(stage, "p") == (
        "it names no queue, and namespace a has none (label ganglion.dev/queue)"
    )


def test_an_annotation_gives_no_priority_unless_the_queue_says_how_much() -> None:
    stage = cluster(queue("strict"), queue("free", max_priority=50), queue("low", max_priority=-1))
    notes = claiming(50)
    stage.show(
        pod("bold", "strict", notes=notes),
        pod("meek", "strict"),
        pod("allowed", "free", notes=notes),
        pod("above", "free", notes=claiming(51)),
        pod("usual", "low"),
    )
    assert started(stage) == ["allowed", "meek"]
    assert told(stage, "bold") == (
        "ganglion.dev/priority claims 50, and queue strict sets no max_priority: "
        "only a PriorityClass gives priority there"
    )
    assert told(stage, "above") == "priority 51 is above 50, the highest in queue free"
    assert told(stage, "usual") == "priority 0 is above -1, the highest in queue low"


def test_a_priority_class_is_bound_by_the_maximum_of_the_queue_alone() -> None:
    stage = cluster(queue("strict"), queue("capped", max_priority=1000))
    stage.show(
        pod("p", "strict", priority=5000),
        pod("q", "capped", priority=5000),
        pod("r", "capped", priority=1000),
    )
    assert started(stage) == ["p", "r"]
    assert told(stage, "q") == "priority 5000 is above 1000, the highest in queue capped"


def test_without_any_queue_annotations_count_as_before() -> None:
    stage = cluster()
    notes = {"ganglion.dev/priority": "100", "ganglion.dev/preemptible": "false"}
    stage.show(pod("p", notes=notes))
    assert started(stage) == ["p"]


@pytest.mark.parametrize(
    ("quota", "what"),
    [({}, "GPUs"), ({"cpu": {"cpus": 64}}, "GPUs")],
    ids=["none", "other-resources"],
)
def test_unstoppable_work_needs_quota(quota: dict[str, Any], what: str) -> None:
    stage = cluster(queue("poor", quota=quota), queue("rich", quota={"*": 1}))
    notes = {"ganglion.dev/preemptible": "false"}
    stage.show(
        pod("p", "poor", notes=notes),
        pod("q", "rich", notes=notes),
        pod("r", "rich", notes=notes),
    )
    assert len(started(stage)) == 1  # one GPU of quota, and not a second
    assert told(stage, "p") == (
        "it may not be stopped for others (ganglion.dev/preemptible), which is granted within "
        f"quota alone, and queue poor has no quota of {what}"
    )


def test_unstoppable_work_may_use_the_quota_of_the_queue_above() -> None:
    stage = cluster(queue("top", quota={"*": 1}), queue("leaf", parent="top"))
    stage.show(pod("p", "leaf", notes={"ganglion.dev/preemptible": "false"}))
    assert started(stage) == ["p"]


@pytest.mark.parametrize("records", [True, False])
def test_limits_per_user_know_the_user_where_admission_records_it(records: bool) -> None:
    limited = queue("research", user_limit={"*": 1})
    stage = cluster(limited, records_users=records)
    for name, user in (("p", "ada"), ("q", "ada"), ("r", "bob")):
        stage.show(pod(name, "research", notes={CREATED_BY: user}))
    # Else the namespace counts as the user, whatever its pods claim.
    assert len(started(stage)) == (2 if records else 1)


def test_the_user_of_pods_that_a_controller_made_is_that_of_the_job() -> None:
    stage = cluster(queue("research", user_limit={"*": 1}), records_users=True)
    meta = {"name": "train", "namespace": "a", "uid": "job", "annotations": {CREATED_BY: "ada"}}
    spec = {"parallelism": 1, "completions": 1}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}
    stage.controller.observe([ObjectChanged("", "owner", "job", convert(job, Anything))])
    owner = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": "train",
        "uid": "job",
        "controller": True,
    }
    # A template may claim anything: the annotation of a pod with a controller is not read.
    body = pod("train-0", "research", notes={CREATED_BY: "mallory"}, owner=owner)
    stage.show(body)
    assert started(stage) == ["train-0"]
    (gang,) = stage.controller.scene.attempts.by_gang
    record = stage.controller.scene.record(gang)
    assert record
    assert record.gang.user == "ada"


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"namespaces": ["a"]}, "spec.namespaces: should be a mapping"),
        ({"namespaces": {"name": "a"}}, "spec.namespaces: there is no key `name`"),
        ({"namespaces": {"names": "a"}}, "spec.namespaces.names: Expected `array`, got `str`"),
        (
            {"namespaces": {"selector": {"matchExpressions": [{"key": "k", "operator": "Gt"}]}}},
            "spec.namespaces.selector: `Gt` is no operator",
        ),
        (
            {"namespaces": {"selector": {"matchExpressions": [{"key": "k", "operator": "In"}]}}},
            "spec.namespaces.selector: In needs values",
        ),
        ({"namespaces": {"selector": {"team": "a"}}}, "spec.namespaces.selector: has keys"),
        ({"max_priority": "high"}, "spec.max_priority: should be a priority, not `high`"),
        ({"max_priority": True}, "spec.max_priority: should be a priority"),
        ({"max_priority": 1 << 31}, "spec.max_priority: should be a priority"),
    ],
)
def test_what_makes_no_sense_is_named(spec: dict[str, Any], problem: str) -> None:
    found = verdict(configuration([queue("research", **spec)], []), "research")
    assert found.reason is AcceptedReason.INVALID
    assert found.message.startswith(problem)


def test_terms_that_make_no_sense_leave_the_last_ones_in_force() -> None:
    wrong = with_kept(queue("research", 2, max_priority="x"), 1, namespaces={"names": ["a"]})
    found = configuration([wrong], [])
    assert found.tenancy.of("research").admits
    assert "generation 1 stays in force" in verdict(found, "research").message
