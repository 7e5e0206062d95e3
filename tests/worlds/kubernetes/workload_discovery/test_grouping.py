"""Gangs follow their pods and owners, whatever comes first, and keep who they are."""

from time import perf_counter

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from ganglion.model.fleet.levels import Level
from ganglion.worlds.kubernetes.requests import ask_of
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_discovery.found import FoundGang
from ganglion.worlds.kubernetes.workload_discovery.grouping import Grouping
from tests.controlplane import manifests
from tests.effort import examples
from tests.worlds.kubernetes import workloads as w
from tests.worlds.kubernetes.controllers import job_pod, unfold
from tests.worlds.kubernetes.workload_discovery.scene import (
    Body,
    Scene,
    anything,
    of,
    pod,
    pods_of,
    seats,
)


def test_a_pod_whose_owner_is_not_known_yet_waits_for_it() -> None:
    bodies = unfold(w.job("train", 1))
    scene = Scene()
    scene.add(bodies[1])
    assert scene.one().lacking == "its Job default/train is not known yet"
    (wanted,) = scene.grouping.wanted_owners()
    assert (wanted.path, wanted.uid) == (
        "/apis/batch/v1/namespaces/default/jobs/train",
        "job-default-train",
    )
    assert wanted.collection == "/apis/batch/v1/jobs"
    scene.add(bodies[0])
    assert (scene.one().lacking, scene.grouping.wanted_owners()) == ("", set())


def test_pods_move_to_the_gang_of_an_owner_further_up_when_that_becomes_known() -> None:
    job_set, *rest = unfold(w.job_set("llm"))
    scene = Scene()
    scene.add(*rest)
    assert {each.lacking for each in scene.gangs()} == {"its JobSet default/llm is not known yet"}
    before = set(scene.grouping.take_dirty())
    scene.add(job_set)
    found = scene.one()
    assert (found.key, found.lacking) == ("default/JobSet/llm/jobset-default-llm", "")
    assert scene.grouping.take_dirty() == {*before, found.key}


def test_an_object_of_the_same_name_with_another_uid_is_not_the_owner() -> None:
    bodies = unfold(w.job("train", 1))
    scene = Scene()
    scene.add(bodies[1])
    other = w.job("train", 1, uid="another")
    scene.things["job-default-train"] = anything(other)
    scene.grouping.owner_changed(anything(other))
    assert scene.one().lacking == "its Job default/train is not known yet"


def test_a_gang_stays_what_it_was_while_its_owner_is_being_deleted() -> None:
    bodies = unfold(w.job_set("llm"))
    scene = Scene()
    scene.add(*bodies)
    before = scene.one()
    scene.remove(bodies[0])
    after = scene.one()
    assert after.key == before.key
    assert after.lacking == "its JobSet default/llm is not known any more"
    assert seats(after) == seats(before)
    scene.add(*pods_of(bodies))
    assert scene.one().key == before.key


def test_a_gang_is_gone_with_its_last_pod() -> None:
    bodies = unfold(w.job("train", 1))
    scene = Scene()
    scene.add(*bodies)
    key = scene.one().key
    scene.grouping.take_dirty()
    scene.remove(bodies[1])
    assert scene.grouping.take_dirty() == {key}
    assert scene.grouping.found(key) is None


def test_pods_that_are_leaving_or_over_are_no_members() -> None:
    bodies = unfold(w.job("train", 3))
    scene = Scene()
    scene.add(*bodies)
    one, two = pods_of(bodies)[:2]
    scene.add({**one, "status": {"phase": "Failed"}})
    two["metadata"]["deletionTimestamp"] = "2026-11-01T09:00:00Z"
    scene.add(two)
    assert set(seats(scene.one())) == {"train-2-x"}
    scene.add({**two, "metadata": {**two["metadata"], "uid": "other", "deletionTimestamp": ""}})
    assert set(seats(scene.one())) == {"train-1-x", "train-2-x"}


def test_the_gang_of_pods_made_anew_is_the_same() -> None:
    body = w.job("train", 4)
    bodies = unfold(body)
    scene = Scene()
    scene.add(*bodies)
    before = scene.one()
    for each in pods_of(bodies):
        scene.remove(each)
    scene.add(*(job_pod(body, index, "again") for index in range(4)))
    after = scene.one()
    assert (after.key, after.created_ms) == (before.key, before.created_ms)
    assert set(seats(after).values()) == set(seats(before).values())


def test_two_pods_for_one_index_do_not_make_two_members() -> None:
    body = w.job("train", 2)
    scene = of(body)
    twin = job_pod(body, 1, "y")
    twin["spec"]["nodeName"] = "n1"
    scene.add(twin)
    found = scene.one()
    assert seats(found) == {"train-0-x": "main-0", "train-1-y": "main-1"}
    assert [each.metadata.name for each in found.spare] == ["train-1-x"]


def test_pods_of_other_schedulers_are_not_ours() -> None:
    body = w.bare("a")
    body["spec"]["schedulerName"] = "default-scheduler"
    scene = Scene()
    scene.add(body)
    assert scene.gangs() == []
    body["spec"]["schedulingGates"] = [{"name": "ganglion.dev/gate"}]
    scene.add(body)
    assert (len(scene.one().members), scene.one().lacking) == (1, "")
    body["spec"]["schedulingGates"] = []
    scene.add(body)
    assert len(scene.one().members) == 1


def test_what_others_hold_back_is_lacking() -> None:
    bodies = unfold(w.job("train", 2))
    pods_of(bodies)[0]["spec"]["schedulingGates"] = [{"name": "kueue.x-k8s.io/topology"}]
    scene = Scene()
    scene.add(*bodies)
    assert scene.one().lacking == (
        "1 of 2 pods are held back by the scheduling gate kueue.x-k8s.io/topology"
    )


def test_missing_pods_are_named_but_not_all_of_them() -> None:
    scene = Scene()
    scene.add(*unfold(w.job("train", 8))[:4])
    assert scene.one().lacking == "3 of 8 pods exist; missing: main-3, main-4, main-5 and 2 more"


def test_where_some_pods_have_succeeded_the_missing_ones_have_no_names() -> None:
    body = w.job("train", 4)
    bodies = unfold(body)
    body["status"] = {"succeeded": 2}
    scene = Scene()
    scene.add(body, pods_of(bodies)[3])
    assert scene.one().lacking == "1 of 2 pods exist; missing: a pod of main"


def test_a_job_of_a_million_pods_costs_no_more_than_its_pods() -> None:
    body = w.job("huge", 1)
    bodies = unfold(body)
    body["spec"]["parallelism"] = body["spec"]["completions"] = 1_000_000
    scene = Scene()
    scene.add(*bodies)
    found = scene.one()
    assert found.lacking == (
        "1 of 1000000 pods exist; missing: main-1, main-2, main-3 and 999996 more"
    )


def test_pods_with_different_queues_are_refused() -> None:
    bodies = unfold(w.job("train", 2, labels={"kueue.x-k8s.io/queue-name": "a"}))
    pods_of(bodies)[1]["metadata"]["labels"]["ganglion.dev/queue"] = "b"
    scene = Scene()
    scene.add(*bodies)
    assert scene.one().refused == ("its pods name different queues: train-0-x a, train-1-x b")


def test_pods_with_different_priorities_are_refused() -> None:
    bodies = unfold(w.job("train", 2))
    pods_of(bodies)[1]["spec"]["priority"] = 7
    scene = Scene()
    scene.add(*bodies)
    assert scene.one().refused == ("its pods have different priorities: train-0-x 0, train-1-x 7")


def test_a_malformed_owner_refuses_its_own_gang_only() -> None:
    body = w.job("bad", 1)
    bodies = unfold(body)
    body["spec"]["parallelism"] = "lots"
    scene = of(w.job("good", 1))
    scene.add(*bodies)
    bad, good = scene.gangs()
    assert bad.refused == (
        "spec.parallelism: should be a whole number from 0 to 1000000, not 'lots'"
    )
    assert len(bad.members) == 1
    assert (good.lacking, good.refused) == ("", "")


_WORLD: list[Body] = [
    body
    for made in (
        w.job("train", 3),
        w.job_set("llm"),
        w.leader_worker_set("vllm", 2, 3),
        w.mpi_job("mpi", 2),
        w.ray_job("rjob"),
        w.stateful_set("db", 2),
        w.deployment("web", 2),
        w.app_wrapper(w.job("inner", 2)),
        w.spark("etl", 2),
        w.bare("solo"),
    )
    for body in unfold(made)
]


_INTERCHANGEABLE = ("default/RayJob/", "default/SparkApplication/")
"""Gangs with pods that have no index: who came first sits first."""


def plain(found: FoundGang) -> FoundGang:
    """A gang without what depends on the order in which interchangeable pods were seen."""
    sets = tuple(structs.replace(each, request=Pod()) for each in found.sets)
    found = structs.replace(found, sets=sets)
    if not found.key.startswith(_INTERCHANGEABLE):
        return found
    names = sorted((each.pod_set, each.pod.metadata.name) for each in found.members)
    lacking = found.lacking.partition(";")[0]
    return structs.replace(found, members=(), name=str(names), lacking=lacking)


_LEAVES = [
    number
    for number, body in enumerate(_WORLD)
    if body["kind"] == "Pod" and not {"played", "executors"} & body.keys()
]
"""Pods that own nothing."""


@settings(max_examples=examples(30, nightly=1_200), deadline=None)
@given(order=st.permutations(range(len(_WORLD))), gone=st.sets(st.sampled_from(_LEAVES)))
def test_any_order_of_changes_gives_what_building_from_scratch_does(
    order: list[int], gone: set[int]
) -> None:
    scene, fresh = Scene(), Scene()
    for step, number in enumerate(order):
        scene.add(_WORLD[number])
        if step % 5 == 0:
            scene.gangs()
    for number in sorted(gone):
        scene.remove(_WORLD[number])
    fresh.add(*(body for number, body in enumerate(_WORLD) if number not in gone))
    assert [plain(each) for each in scene.gangs()] == [plain(each) for each in fresh.gangs()]


@settings(max_examples=examples(30, nightly=1_200), deadline=None)
@given(data=st.data())
def test_a_living_pod_keeps_its_seat_and_no_seat_has_two_pods(data: st.DataObject) -> None:
    body = w.job("many", 4, completions=40)
    scene = of(body)
    following = 4
    for _ in range(data.draw(st.integers(1, 20))):
        before = seats(scene.one())
        ended = data.draw(st.sampled_from(sorted(before)))
        index = int(ended.split("-")[1])
        if data.draw(st.booleans()):
            fresh, following = job_pod(body, following), following + 1
        else:
            fresh = job_pod(body, index, f"{ended.split('-')[2]}x")
        for step in data.draw(st.permutations((0, 1))):
            if step:
                scene.add(fresh)
            else:
                scene.remove({"kind": "Pod", "metadata": {"uid": f"pod-default-{ended}"}})
        after = seats(scene.one())
        assert sorted(after.values()) == [f"main-{i}" for i in range(4)]
        assert {name: after[name] for name in before if name != ended} == {
            name: seat for name, seat in before.items() if name != ended
        }


def test_fifty_thousand_pods_cost_each_as_much_as_the_first() -> None:
    things, pods = {}, []
    for number in range(1000):
        owner, *made = unfold(w.job(f"j{number}", 50))
        things[owner["metadata"]["uid"]] = anything(owner)
        pods += [pod(each) for each in made]
    grouping = Grouping(lambda ref, _: things.get(ref.uid))
    begin = perf_counter()
    for each in pods:
        grouping.put(each)
    assert len(grouping.take_dirty()) == 1000
    all_of_them = perf_counter() - begin
    begin = perf_counter()
    grouping.put(pods[777])
    assert len(grouping.take_dirty()) == 1
    one_of_them = perf_counter() - begin
    assert one_of_them < all_of_them / 50


def test_a_large_gang_is_not_put_together_again_while_its_pods_are_bound_and_run() -> None:
    looks = 0

    def levels(_key: str) -> Level:
        nonlocal looks
        looks += 1
        return Level.RACK

    grouping = Grouping(lambda _ref, _namespace: None, levels)
    near = {"ganglion.dev/topology-required": "example.com/row"}
    bodies = manifests.gang("g", 8, annotations=near)
    for number, body in enumerate(bodies):
        grouping.put(pod({**body, "metadata": {**body["metadata"], "uid": f"u{number}"}}))
    (key,) = grouping.all_keys()
    sets, before = _found(grouping, key).sets, looks
    assert before
    states: list[Body] = [
        {"nominatedNodeName": "n"},
        {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    ]
    for version, status in enumerate(states):
        for number, body in enumerate(bodies):
            meta = {**body["metadata"], "uid": f"u{number}", "resourceVersion": f"{version}"}
            spec = {**body["spec"], "nodeName": f"n{number}"}
            grouping.put(pod({**body, "metadata": meta, "spec": spec, "status": status}))
            assert grouping.take_dirty() >= {key}
        members = _found(grouping, key).members
        assert [each.pod.spec.node_name for each in members] == [f"n{i}" for i in range(8)]
        assert {each.pod.status.phase for each in members} == {status.get("phase", "Pending")}
    assert (_found(grouping, key).sets, looks) == (sets, before)
    changed = {**bodies[0]["metadata"], "uid": "u0", "labels": {"ganglion.dev/gang": "another"}}
    grouping.put(pod({**bodies[0], "metadata": changed}))
    assert len(grouping.all_keys()) == 2


def _found(grouping: Grouping, key: str) -> FoundGang:
    found = grouping.found(key)
    assert found
    return found


@given(st.data())
@settings(max_examples=examples(12, nightly=500))
def test_pods_that_change_make_the_gangs_that_they_would_make_anew(data: st.DataObject) -> None:
    bodies = manifests.gang("g", 3) + manifests.gang("h", 2) + [manifests.pod("p")]
    now = {body["metadata"]["name"]: body for body in bodies}
    followed = Grouping(lambda _ref, _namespace: None)
    for _ in range(data.draw(st.integers(1, 12))):
        name = data.draw(st.sampled_from(sorted(now)))
        body = now[name] = data.draw(_changed(now[name]))
        followed.put(pod(_told(body)))
        if data.draw(st.booleans()):
            followed.all_keys()
    anew = Grouping(lambda _ref, _namespace: None)
    known = followed._metas
    for name in sorted(now, key=lambda each: not now[each]["spec"].get("nodeName")):
        if (body := _told(now[name]))["metadata"]["uid"] in known:
            anew.put(pod(body))
    assert followed.all_keys() == anew.all_keys()
    for key in anew.all_keys():
        one, other = _found(followed, key), _found(anew, key)
        assert (one.lacking, one.refused, one.queue) == (other.lacking, other.refused, other.queue)
        assert _people(one) == _people(other)
        asked = [[(s.name, s.count, ask_of(s.request)) for s in each.sets] for each in (one, other)]
        assert asked[0] == asked[1]


def _told(body: Body) -> Body:
    return {**body, "metadata": {**body["metadata"], "uid": f"uid-{body['metadata']['name']}"}}


def _people(found: FoundGang) -> list[Pod]:
    pods = [*(each.pod for each in found.members), *found.spare]
    return sorted(pods, key=lambda each: each.metadata.name)


@st.composite
def _changed(draw: st.DrawFn, body: Body) -> Body:
    meta, spec, status = body["metadata"], body["spec"], body.get("status", {})
    what = draw(st.sampled_from(["node", "phase", "nominated", "queue", "given", "gate"]))
    if what == "node":
        spec = {**spec, "nodeName": draw(st.sampled_from(["n0", "n1"]))}
    elif what == "phase":
        status = {**status, "phase": draw(st.sampled_from(["Running", "Pending"]))}
    elif what == "nominated":
        status = {**status, "nominatedNodeName": draw(st.sampled_from(["", "n2"]))}
    elif what == "queue":
        meta = {**meta, "labels": {**meta["labels"], "ganglion.dev/queue": "team"}}
    elif what == "given":
        given_ = {"name": "main", "allocatedResources": {"cpu": draw(st.sampled_from("27"))}}
        status = {**status, "containerStatuses": [given_]}
    else:
        spec = {**spec, "schedulingGates": [{"name": "example.com/other"}]}
    return {**body, "metadata": meta, "spec": spec, "status": status}
