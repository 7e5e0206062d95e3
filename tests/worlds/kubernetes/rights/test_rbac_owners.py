"""Every right on what makes pods is needed: to know gangs, and to have them stop and start."""

from functools import partial

import pytest

from ganglion.worlds.kubernetes.workload_discovery.found import GangOwner
from ganglion.worlds.kubernetes.workload_kinds import kinds
from ganglion.worlds.kubernetes.writes.outcome import WriteVerdict
from ganglion.worlds.kubernetes.writes.owners import suspend_owner
from tests.controlplane.cluster import Cluster
from tests.worlds.kubernetes import workloads as w
from tests.worlds.kubernetes.crds import KINDS as DEFINED
from tests.worlds.kubernetes.crds import definition
from tests.worlds.kubernetes.rbac import LIVES, Right, bind_chart_role, chart_rights, without
from tests.worlds.kubernetes.rights.test_rbac_scheduler import forbidden, scheduling_with
from tests.worlds.kubernetes.writes.real import QUICK, on

LLM = ("serving.kserve.io", "v1alpha1", "LLMInferenceService")
OWN = [(*ident[:1], "v1", ident[1]) for ident in kinds.KINDS if ident[0] in ("apps", "batch")]
EVERY = [*OWN, *DEFINED, LLM]
"""(group, version, kind) of all but upstream's PodGroups, which only feature gates bring."""

MARKS = {
    "scheduling.x-k8s.io": "scheduling.x-k8s.io/pod-group",
    "scheduling.volcano.sh": "scheduling.k8s.io/group-name",
    "scheduling.run.ai": "pod-group-name",
}


def plural(group: str, kind: str) -> str:
    return kinds.KINDS[group, kind].plural


def define(cluster: Cluster) -> None:
    cluster.create(*(definition(*each) for each in (*DEFINED, LLM)))
    for group, version, kind in EVERY:
        cluster.collection({"apiVersion": f"{group}/{version}", "kind": kind, "metadata": {}})


def pod_of(number: int, group: str, version: str, kind: str) -> w.Body:
    """A pod that an object of that kind has made, or that names it."""
    if group in MARKS:
        return w.bare(f"p-{number}", labels={MARKS[group]: "g"})
    head = {"apiVersion": f"{group}/{version}", "kind": kind, "controller": True}
    return w.bare(f"p-{number}", ownerReferences=[{**head, "name": "o", "uid": f"u-{number}"}])


def test_all_kinds_that_are_understood_are_tested() -> None:
    tested = {(group, kind) for group, _, kind in EVERY}
    gated = {kinds.UPSTREAM_GROUP, kinds.UPSTREAM_COMPOSITE}
    assert kinds.KINDS.keys() - tested == {kinds.POD, *gated}


@pytest.mark.parametrize("verb", ["list", "watch"])
def test_every_kind_of_owner_that_it_may_not_follow_is_told_of(cluster: Cluster, verb: str) -> None:
    define(cluster)
    names = {(group, plural(group, kind)) for group, _, kind in EVERY}
    gone = [each for each in chart_rights() if each.verb == verb and each[:2] in names]
    assert len(gone) == len(names)
    paths = {f"/apis/{group}/{version}/{plural(group, kind)}" for group, version, kind in EVERY}
    cluster.create(*(pod_of(number, *each) for number, each in enumerate(EVERY)))
    with scheduling_with(cluster, *gone) as scheduler:
        cluster.wait(lambda: set(forbidden(scheduler)) >= paths, "troubles")


def stoppable() -> list[tuple[str, str, str]]:
    return [each for each in EVERY if kinds.KINDS[each[0], each[2]].suspend]


def stops(cluster: Cluster, *lacking: Right) -> dict[str, bool]:
    """Kinds -> whether an object of it has a field that suspends its pods."""
    define(cluster)
    kubeconfig = bind_chart_role(cluster, "scheduler", without(*lacking))
    found = {}
    for group, version, kind in stoppable():
        switch = kinds.KINDS[group, kind].suspend
        spec: w.Body = {switch[1]: {}} if len(switch) > 2 else {}
        body = w.thing(f"{group}/{version}", kind, "one", spec)
        (made,) = cluster.create(w.job("one") if kind == "Job" else body)
        path, uid = cluster.path(body), made["metadata"]["uid"]
        owner = GangOwner(f"{group}/{version}", kind, "default", "one", uid, path, switch)
        outcome = on(kubeconfig, partial(suspend_owner, owner=owner, beneficiary="a/b", pace=QUICK))
        found[kind] = outcome.verdict is WriteVerdict.DONE
    return found


def test_whatever_has_a_switch_may_be_switched(cluster: Cluster) -> None:
    assert [kind for kind, done in stops(cluster).items() if not done] == []


@pytest.mark.parametrize("verb", ["get", "patch"])
def test_no_owner_is_switched_without_the_right_to(cluster: Cluster, verb: str) -> None:
    names = {(group, plural(group, kind)) for group, _, kind in stoppable()}
    gone = [each for each in chart_rights() if each.verb == verb and each[:2] in names]
    assert len(gone) == len(names)
    assert [kind for kind, done in stops(cluster, *gone).items() if done] == []


def test_every_right_on_owners_is_tried() -> None:
    known = {(group, plural(group, kind)) for group, _, kind in EVERY}
    switched = {(group, plural(group, kind)) for group, _, kind in stoppable()}
    tried = {(*each, verb) for each in known for verb in ("list", "watch")}
    tried |= {(*each, verb) for each in switched for verb in ("get", "patch")}
    groups = {group for group, _, _ in EVERY}
    given = {each[:3] for each in chart_rights() if each.group in groups and each not in LIVES}
    assert given == tried
