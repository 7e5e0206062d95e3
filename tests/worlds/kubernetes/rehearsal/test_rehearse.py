"""What a scheduler says of objects that its cluster does not have: what it does once they are."""

import json
from typing import Any

import pytest

from ganglion.engine.explain.explain import start_of
from ganglion.engine.state.snapshot import saved
from ganglion.model.errors import InputError, StateError
from ganglion.model.plan import Phase, Verdict
from ganglion.worlds.kubernetes.cluster_view.orders import Evict
from ganglion.worlds.kubernetes.controller_state.facts import Facts
from ganglion.worlds.kubernetes.rehearsal.rehearse import rehearse
from ganglion.worlds.kubernetes.submit.manifests.pod import bare
from ganglion.worlds.kubernetes.submit.manifests.shape import gangs
from tests.controlplane import manifests
from tests.worlds.kubernetes.controller.stage import Body, Stage
from tests.worlds.kubernetes.controllers import made_by
from tests.worlds.kubernetes.submit.make import compiled, workload

SPACE = "team-a"
ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
TRAIN = "name: train\nimage: img\nqueue: default\nrun: python train.py\n"


def text(more: str) -> str:
    return TRAIN + more


def objects(given: str) -> list[Body]:
    """What the command line sends of a workload file."""
    made = compiled(given, document=json.loads("{}"))
    return [bare(each) for each in made[: len(gangs(workload(given))[0].crews)]]


def stage(*nodes: Body) -> Stage:
    found = Stage()
    found.show(*nodes)
    found.turn()
    return found


def asked(there: Stage, *bodies: Body, namespace: str = SPACE) -> Verdict:
    """A verdict; nothing of the scheduler is another than before."""
    before = everything(there)
    try:
        return rehearse(there.controller, bodies, namespace, there.now).prospect.verdict
    finally:
        assert everything(there) == before
        there.controller.validate()


def everything(there: Stage) -> tuple[Any, ...]:
    scene = there.controller.scene
    facts: Facts = scene.facts
    (site,) = scene.sites.values()
    return (
        saved(scene.state),
        list(facts.taken),
        dict(facts.apart),
        list(scene.orders),
        dict(scene.gangs.founds),
        set(scene.gangs.touched),
        site.mentioned,
        dict(site.barred),
        set(site.changed_nodes),
        dict(site.pods),
    )


def nodes_of(found: Verdict) -> list[str]:
    assert found.placement, found
    return sorted(each.node for each in found.placement.pods)


def submit(there: Stage, bodies: list[Body]) -> None:
    """The objects and their pods are there."""
    for number, body in enumerate(bodies):
        each = {**body, "metadata": {**body["metadata"], "uid": f"u-{number}"}}
        there.show(each, *made_by(each))
    there.turn()


def submitted(there: Stage, bodies: list[Body]) -> list[str]:
    """Where the scheduler places the pods once the objects are there."""
    submit(there, bodies)
    (gang,) = (each for each in there.controller.scene.gangs.founds if each.startswith(SPACE))
    return sorted(there.nodes_of(gang))


def test_a_gang_goes_where_the_scheduler_then_places_it() -> None:
    there = stage(*(manifests.node(f"n{n}", gpus=8) for n in range(3)))
    given = objects(text("nodes: 2\nresources: {gpus: 8}\n"))
    found = asked(there, *given)
    assert nodes_of(found) == submitted(there, given)
    assert found.stops == ()


@pytest.mark.parametrize(
    "more",
    [
        "resources: {gpus: 1}\nconstraints: {labels: {disk: nvme}}\n",
        "resources: {gpus: 1}\nconstraints: {avoid: {disk: [hdd, none]}}\n",
    ],
)
def test_labels_that_no_pod_has_asked_about_yet_count(more: str) -> None:
    disks = {"n0": "hdd", "n1": "nvme", "n2": "none"}
    there = stage(
        *(manifests.node(name, gpus=8, labels={"disk": disk}) for name, disk in disks.items())
    )
    given = objects(text(more))
    assert nodes_of(asked(there, *given)) == ["n1"]
    assert submitted(there, given) == ["n1"]


def test_what_else_runs_closes_nodes() -> None:
    there = stage(*(manifests.node(f"n{n}", gpus=8) for n in range(2)))
    selector = {"matchLabels": {"ganglion.dev/workload": "train"}}
    rule = {"podAntiAffinity": {REQUIRED: [{"labelSelector": selector, "topologyKey": HOST}]}}
    other = manifests.pod(
        "db", scheduler="default-scheduler", gpus=0, affinity=rule, nodeName="n0", namespace=SPACE
    )
    there.show(other)
    there.turn()
    given = objects(text("resources: {gpus: 1}\n"))
    assert nodes_of(asked(there, *given)) == ["n1"]


def test_what_would_wait_says_for_what_and_what_can_never_start_says_so() -> None:
    there = stage(manifests.node("n0", gpus=8))
    firm = {"ganglion.dev/preemptible": "false"}
    queue = {"ganglion.dev/queue": "default"}
    there.show(manifests.pod("other", gpus=8, labels=queue, annotations=firm))
    there.turn()
    there.turn()
    waits = asked(there, *objects(text("resources: {gpus: 8}\n"))).reason
    assert waits
    assert not waits.never
    never = asked(there, *objects(text("resources: {gpus: 16}\n"))).reason
    assert never
    assert never.never
    given = objects(text("resources: {gpus: 1}\nconstraints: {labels: {x: y}}\n"))
    unlabelled = asked(there, *given).reason
    assert unlabelled
    assert unlabelled.token == "constraint"


def test_when_one_that_waits_starts_is_what_the_scheduler_says_of_it_then() -> None:
    there = stage(manifests.node("n0", gpus=8))
    submit(there, objects(text("resources: {gpus: 8}\npriority: 90\ntime_limit: 2h\n")))
    given = objects(text("resources: {gpus: 4}\ntime_limit: 1h\n").replace("train", "later"))
    found = rehearse(there.controller, given, SPACE, there.now).prospect
    assert found.start
    assert found.start.p50 > there.now + 60_000
    submit(there, given)
    state = there.controller.scene.state
    (later,) = (each for each in state.gangs.records.values() if each.phase is Phase.PENDING)
    band = start_of(state, later, there.now)
    assert band
    assert abs(band.p50_ms - found.start.p50) < 10_000
    assert abs(band.p90_ms - found.start.p90) < 10_000


def test_those_that_would_be_stopped_are_named_and_then_are_stopped() -> None:
    there = stage(manifests.node("n0", gpus=8))
    queue = {"ganglion.dev/queue": "default"}
    there.show(manifests.pod("other", gpus=8, labels=queue))
    there.turn()
    there.show(manifests.pod("other", gpus=8, labels=queue, nodeName="n0"))
    there.turn()
    given = objects(text("resources: {gpus: 8}\n"))
    (victim,) = asked(there, *given).stops
    told = rehearse(there.controller, given, SPACE, there.now)
    (each,) = told.prospect.displaced
    assert (each.gang, each.queue, each.gpu_milli, told.gangs) == (victim, "default", 8_000, 1)
    submit(there, given)
    assert [each.gang for each in there.ordered(Evict)] == [victim]


@pytest.mark.parametrize(
    "kind",
    [
        "kind: service\nport: 80\nreplicas: 2\nresources: {gpus: 1}\n",
        "kind: service\nport: 80\nreplicas: 2\nnodes: 2\nresources: {gpus: 8}\n",
        "kind: workspace\nresources: {gpus: 1}\n",
        "kind: sweep\nparams: {lr: [1, 2, 3]}\nresources: {gpus: 1}\n",
        "pod_sets:\n- {name: a, nodes: 1, resources: {gpus: 1}}\n"
        "- {name: b, nodes: 2, resources: {gpus: 4}}\n",
    ],
)
def test_every_kind_is_understood_as_the_pods_of_its_objects_are(kind: str) -> None:
    there = stage(*(manifests.node(f"n{n}", gpus=8) for n in range(3)))
    found = asked(there, *objects(text(kind)))
    assert found.placement, found.reason
    wanted = workload(text(kind))
    assert len(found.placement.pods) == gangs(wanted)[0].pods


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("queue: nowhere\n", "there is no queue nowhere"),
        ("queue: default\nresources: {gpus: 0.5}\n", "agent"),
    ],
)
def test_what_would_never_be_taken_is_refused(more: str, problem: str) -> None:
    there = stage(manifests.node("n0", gpus=8))
    given = objects(TRAIN.replace("queue: default\n", "") + more)
    with pytest.raises(InputError, match=problem):
        asked(there, *given)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"kind": "Job", "metadata": {"name": "x", "namespace": "other"}}, "not in namespace"),
        ({"kind": "Pod", "metadata": {"name": "x", "namespace": SPACE}}, "cannot be tried"),
        ({"kind": "Job", "metadata": []}, "malformed"),
        ({"kind": "Job", "metadata": {"name": "x", "namespace": SPACE}, "spec": {}}, "places"),
        (
            {
                "kind": "Job",
                "metadata": {"name": "x", "namespace": SPACE},
                "spec": {"parallelism": 10**6, "template": {}},
            },
            "the pods of",
        ),
    ],
)
def test_nonsense_is_refused(body: Body, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        asked(stage(manifests.node("n0", gpus=8)), {"apiVersion": "batch/v1", **body})


def test_a_scheduler_of_several_clusters_says_nothing_of_one() -> None:
    given = objects(text("resources: {gpus: 1}\n"))
    several = Stage("east", "west")
    with pytest.raises(StateError, match="several clusters"):
        rehearse(several.controller, given, SPACE, several.now)


def test_a_rehearsal_changes_no_later_decision() -> None:
    def story(*, rehearses: bool) -> list[str]:
        there = stage(*(manifests.node(f"n{n}", gpus=4, labels={ZONE: f"z{n}"}) for n in range(3)))
        ended = list[str]()
        for number in range(4):
            if rehearses:
                more = f"resources: {{gpus: {number + 1}}}\n"
                more += f"constraints: {{labels: {{a: b{number}}}}}\n"
                rehearse(there.controller, objects(text(more)), SPACE, there.now)
            labels = {"ganglion.dev/queue": "default"}
            there.show(manifests.pod(f"p{number}", gpus=3, labels=labels))
            ended += map(repr, there.turn())
        return ended

    assert story(rehearses=True) == story(rehearses=False)
