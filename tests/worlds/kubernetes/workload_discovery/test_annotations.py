"""What labels, annotations and fields say about a gang, in our words and in those of others."""

import pytest

from ganglion.model.fleet.levels import Level
from ganglion.model.plan import SavePoint
from ganglion.model.workload import Checkpoint, Kind, Slice, Topology
from ganglion.worlds.kubernetes.workload_discovery.found import FoundGang
from tests.worlds.kubernetes import workloads as w
from tests.worlds.kubernetes.controllers import unfold
from tests.worlds.kubernetes.workload_discovery.scene import Body, Scene, of, pods_of

ZONE = "topology.kubernetes.io/zone"


def with_notes(notes: dict[str, str], pods: int = 4, **spec: object) -> FoundGang:
    """A Job whose pods carry annotations."""
    body = w.job("train", pods)
    body["spec"]["template"]["metadata"]["annotations"] = notes
    body["spec"].update(spec)
    return of(body).one()


def on_owner(notes: dict[str, str]) -> FoundGang:
    """A JobSet that carries annotations itself."""
    return of(w.job_set("llm", annotations=notes)).one()


@pytest.mark.parametrize(
    "label", ["ganglion.dev/queue", "kueue.x-k8s.io/queue-name", "kai.scheduler/queue"]
)
@pytest.mark.parametrize("where", ["owner", "pod"])
def test_the_queue_is_named_by_the_owner_or_its_pods(label: str, where: str) -> None:
    body = w.job_set("llm", labels={label: "research"} if where == "owner" else {})
    bodies = unfold(body)
    for each in pods_of(bodies):
        each["metadata"]["labels"].update({label: "research"} if where == "pod" else {})
    scene = Scene()
    scene.add(*bodies)
    assert scene.one().queue == "research"


def test_our_own_label_overrides_those_of_others() -> None:
    labels = {"kueue.x-k8s.io/queue-name": "theirs", "ganglion.dev/queue": "ours"}
    assert of(w.job("train", 1, labels=labels)).one().queue == "ours"


def test_the_pod_overrides_its_owner() -> None:
    body = w.job("train", 1, labels={"ganglion.dev/queue": "owner"})
    body["spec"]["template"]["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "pod"}
    assert of(body).one().queue == "pod"


def test_priority_and_preemption_policy_are_those_of_the_pods() -> None:
    body = w.job("train", 2)
    body["spec"]["template"]["spec"] |= {"priority": -5, "preemptionPolicy": "Never"}
    found = of(body).one()
    assert (found.priority, found.preempts, found.preemptible) == (-5, False, True)


@pytest.mark.parametrize("text", ["false", "False"])
def test_a_gang_may_say_that_nobody_may_stop_it(text: str) -> None:
    assert not with_notes({"ganglion.dev/preemptible": text}).preemptible
    assert not on_owner({"ganglion.dev/preemptible": text}).preemptible


@pytest.mark.parametrize(
    ("notes", "expected"),
    [
        ({"ganglion.dev/topology-required": "rack"}, Topology(required=Level.RACK)),
        ({"ganglion.dev/topology-preferred": ZONE}, Topology(preferred=Level.ZONE)),
        ({"kueue.x-k8s.io/podset-required-topology": ZONE}, Topology(required=Level.ZONE)),
        (
            {"kueue.x-k8s.io/podset-preferred-topology": "kubernetes.io/hostname"},
            Topology(preferred=Level.NODE),
        ),
        ({"kai.scheduler/topology-required-placement": ZONE}, Topology(required=Level.ZONE)),
        (
            {
                "kai.scheduler/topology-required-placement": ZONE,
                "kai.scheduler/topology-preferred-placement": "rack",
            },
            Topology(required=Level.ZONE, preferred=Level.RACK),
        ),
        ({"kueue.x-k8s.io/podset-unconstrained-topology": "true"}, Topology()),
    ],
)
def test_levels_of_the_pods_are_those_of_their_set_and_of_the_owner_those_of_all(
    notes: dict[str, str], expected: Topology
) -> None:
    of_pods, of_all = with_notes(notes), on_owner(notes)
    assert (of_pods.sets[0].topology, of_pods.topology) == (expected, Topology())
    assert (of_all.sets[0].topology, of_all.topology) == (Topology(), expected)


def test_node_labels_mean_what_the_cluster_says() -> None:
    body = w.job("train", 2)
    notes = {"kueue.x-k8s.io/podset-required-topology": "cloud.com/rack"}
    body["spec"]["template"]["metadata"]["annotations"] = notes
    scene = of(body)
    assert scene.one().refused == (
        "kueue.x-k8s.io/podset-required-topology: 'cloud.com/rack' is neither a level nor a "
        "topology label of this cluster's nodes"
    )
    known = {"cloud.com/rack": Level.RACK}
    scene.grouping.set_levels(known.get)
    assert (scene.one().refused, scene.one().sets[0].topology.required) == ("", Level.RACK)


def test_slices_of_kueue_are_nested_groups() -> None:
    notes = {
        "kueue.x-k8s.io/podset-slice-required-topology": ZONE,
        "kueue.x-k8s.io/podset-slice-size": "2",
    }
    assert with_notes(notes).sets[0].slices == (Slice(size=2, required=Level.ZONE),)


def test_slices_that_do_not_divide_the_set_are_refused() -> None:
    notes = {
        "kueue.x-k8s.io/podset-slice-required-topology": ZONE,
        "kueue.x-k8s.io/podset-slice-size": "3",
    }
    assert with_notes(notes).refused == (
        "kueue.x-k8s.io/podset-slice-size: 3 does not divide the 4 pods of main"
    )


def test_sets_that_share_a_domain_in_kueue_are_one_gang_in_a_domain() -> None:
    notes = {
        "kueue.x-k8s.io/podset-group-name": "all",
        "kueue.x-k8s.io/podset-required-topology": ZONE,
    }
    bodies = unfold(w.mpi_job("mpi", 2))
    for each in pods_of(bodies):
        each["metadata"]["annotations"].update(notes)
    scene = Scene()
    scene.add(*bodies)
    assert scene.one().topology.required is Level.ZONE


def test_a_domain_shared_by_some_of_the_sets_is_refused() -> None:
    bodies = unfold(w.mpi_job("mpi", 2))
    for each in pods_of(bodies)[:2]:
        each["metadata"]["annotations"]["kueue.x-k8s.io/podset-group-name"] = "some"
    scene = Scene()
    scene.add(*bodies)
    assert scene.one().refused == (
        "kueue.x-k8s.io/podset-group-name: names a group that 'launcher' is not in: "
        "only all sets of a gang can share a domain"
    )


def test_exclusive_topology_of_a_leader_worker_set_holds_the_whole_group() -> None:
    body = w.leader_worker_set("vllm", 1, 3)
    body["metadata"]["annotations"] = {"leaderworkerset.sigs.k8s.io/exclusive-topology": ZONE}
    assert of(body).one().topology.required is Level.ZONE


def test_sub_groups_of_workers_each_have_a_domain() -> None:
    body = w.leader_worker_set("vllm", 1, 5)
    key = "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology"
    body["metadata"]["annotations"] = {key: ZONE}
    body["spec"]["leaderWorkerTemplate"]["subGroupPolicy"] = {"subGroupSize": 2}
    assert of(body).one().sets[1].slices == (Slice(size=2, required=Level.ZONE),)
    body["spec"]["leaderWorkerTemplate"]["subGroupPolicy"] = {"subGroupSize": 5}
    assert "that include the leader cannot each have a domain" in of(body).one().refused


def test_a_checkpoint_contract_is_read_from_annotations() -> None:
    found = with_notes(
        {
            "ganglion.dev/checkpoint-interval": "30m",
            "ganglion.dev/checkpoint-signal": "SIGUSR1",
            "ganglion.dev/checkpointed-at": "2026-11-01T08:30:00Z",
            "ganglion.dev/checkpoint-step": "1200",
            "ganglion.dev/checkpoint-path": "/ck/1200.pt",
        }
    )
    assert found.checkpoint == Checkpoint(interval_ms=1_800_000, signal="SIGUSR1")
    at = found.created_ms + 1_800_000
    assert found.saved == SavePoint(at, 1200, "/ck/1200.pt")


def test_of_several_pods_the_one_that_saved_last_is_believed_as_a_whole() -> None:
    bodies = unfold(w.job("train", 2))
    first, second = (each["metadata"].setdefault("annotations", {}) for each in pods_of(bodies))
    first["ganglion.dev/checkpointed-at"] = "2026-11-01T08:30:00Z"
    first["ganglion.dev/checkpoint-step"] = "7"
    second["ganglion.dev/checkpointed-at"] = "2026-11-01T08:31:00Z"
    second["ganglion.dev/checkpoint-path"] = "/ck/8.pt"
    scene = Scene()
    scene.add(*bodies)
    saved = scene.one().saved
    assert saved
    assert (saved.step, saved.path) == (0, "/ck/8.pt")


def test_the_grace_of_the_pods_is_the_grace_of_the_contract_unless_said_otherwise() -> None:
    body = w.job("train", 1)
    body["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 90
    notes = {"ganglion.dev/checkpoint-interval": "1h"}
    body["spec"]["template"]["metadata"]["annotations"] = notes
    assert of(body).one().checkpoint == Checkpoint(interval_ms=3_600_000, grace_ms=90_000)
    notes["ganglion.dev/checkpoint-grace"] = "2m"
    assert of(body).one().checkpoint == Checkpoint(interval_ms=3_600_000, grace_ms=120_000)


def test_without_a_word_about_checkpoints_there_is_no_contract() -> None:
    assert with_notes({}).checkpoint is None


@pytest.mark.parametrize(
    "found",
    [
        lambda: with_notes({"ganglion.dev/time-limit": "2h"}),
        lambda: with_notes({}, activeDeadlineSeconds=7200),
        lambda: with_notes({"kueue.x-k8s.io/max-exec-time-seconds": "7200"}),
        lambda: with_notes({"ganglion.dev/time-limit": "2h"}, activeDeadlineSeconds=60),
    ],
)
def test_the_time_limit_is_ours_or_that_of_fields_others_enforce(found: object) -> None:
    assert callable(found)
    assert found().time_limit_ms == 7_200_000


def test_the_deadline_of_a_training_job_is_its_time_limit() -> None:
    body = w.kubeflow("PyTorchJob", "pytorchReplicaSpecs", Worker=1)
    body["spec"]["runPolicy"] = {"activeDeadlineSeconds": 60}
    assert of(body).one().time_limit_ms == 60_000


def test_a_deadline_may_be_longer_than_a_month() -> None:
    assert with_notes({}, activeDeadlineSeconds=5_000_000).time_limit_ms == 5_000_000_000


def test_how_long_it_is_expected_to_run_is_read() -> None:
    assert with_notes({"ganglion.dev/expected": "90m"}).expected_ms == 5_400_000


def test_a_label_says_what_sort_of_workload_it_is() -> None:
    body = w.job("serve", 2, labels={"ganglion.dev/kind": "service"})
    assert of(body).one().kind is Kind.SERVICE


@pytest.mark.parametrize(
    ("notes", "problem"),
    [
        ({"ganglion.dev/time-limit": "soon"}, "ganglion.dev/time-limit: "),
        ({"ganglion.dev/preemptible": "maybe"}, "ganglion.dev/preemptible: "),
        ({"ganglion.dev/checkpoint-interval": "x"}, "ganglion.dev/checkpoint-interval: "),
        ({"ganglion.dev/checkpointed-at": "x"}, "ganglion.dev/checkpointed-at: "),
        (
            {
                "ganglion.dev/checkpointed-at": "2026-11-01T08:30:00Z",
                "ganglion.dev/checkpoint-step": "-1",
            },
            "ganglion.dev/checkpoint-step: ",
        ),
        ({"ganglion.dev/kind": "x"}, "ganglion.dev/kind: "),
        ({"ganglion.dev/gang-min": "x"}, "ganglion.dev/gang-min: "),
        ({"kueue.x-k8s.io/max-exec-time-seconds": "x"}, "kueue.x-k8s.io/max-exec-time-seconds: "),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(notes: dict[str, str], problem: str) -> None:
    found = with_notes(notes)
    assert found.refused.startswith(problem)
    assert len(found.members) == 4


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (w.job("a", 1), ("spec", "suspend")),
        (w.job_set("a"), ("spec", "suspend")),
        (w.mpi_job("a"), ("spec", "runPolicy", "suspend")),
        (w.ray_cluster("a"), ("spec", "suspend")),
        (w.stateful_set("a"), ()),
        (w.notebook("a"), ()),
    ],
)
def test_owners_are_suspended_by_the_field_of_their_kind(
    body: Body, fields: tuple[str, ...]
) -> None:
    found = of(body).one()
    assert found.owner is not None
    assert (found.owner.suspend, found.owner.suspended) == (fields, False)


def test_an_owner_may_be_suspended_already() -> None:
    body = w.mpi_job("a")
    body["spec"]["runPolicy"] = {"suspend": True}
    owner = of(body).one().owner
    assert owner is not None
    assert owner.suspended
