"""Nodes that other pods close."""

from typing import Any

import msgspec

from ganglion.worlds.kubernetes.feasibility.reading import needs_of
from ganglion.worlds.kubernetes.feasibility.volumes import Volumes
from ganglion.worlds.kubernetes.pod_index.fleet import Fleet
from ganglion.worlds.kubernetes.pod_index.pods import PodIndex
from ganglion.worlds.kubernetes.pod_rules.barred import bar_id, barred
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.types.storage import (
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    VolumeAttachment,
)
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

WEB = {"app": "web"}
LEVEL = zones(a="x", b="x", c="y", d="")


def closed(new: Pod, them: PodIndex, there: Fleet = LEVEL) -> dict[str, str]:
    return barred(needs_of(new), them, there)


def web(name: str = "w", **spec: Any) -> Pod:
    return pod(name, labels=WEB, **spec)


def test_in_an_empty_cluster_nothing_is_closed_to_a_plain_pod() -> None:
    assert closed(pod(), crowd()) == {}


def test_a_taken_port_closes_the_node() -> None:
    them = crowd((pod("old", containers=[port(80)]), "a"))
    assert closed(pod(containers=[port(80)]), them) == {"a": "host port TCP 80 is taken"}
    assert closed(pod(containers=[port(81)]), them) == {}
    assert closed(pod(containers=[port(80, protocol="UDP")]), them) == {}


def test_a_port_on_every_address_clashes_with_one_on_any() -> None:
    them = crowd((pod("old", containers=[port(80, "10.0.0.1")]), "a"))
    assert set(closed(pod(containers=[port(80)]), them)) == {"a"}
    assert set(closed(pod(containers=[port(80, "0.0.0.0")]), them)) == {"a"}
    assert set(closed(pod(containers=[port(80, "10.0.0.1")]), them)) == {"a"}
    assert closed(pod(containers=[port(80, "10.0.0.2")]), them) == {}
    everywhere = crowd((pod("old", containers=[port(80)]), "b"))
    assert set(closed(pod(containers=[port(80, "10.0.0.2")]), everywhere)) == {"b"}


def test_a_port_is_taken_as_long_as_somebody_has_it_on_some_address() -> None:
    owners = [(pod(ip, containers=[port(80, ip)]), "a") for ip in ("10.0.0.1", "10.0.0.2")]
    them = crowd(*owners, (pod("third", containers=[port(80, "10.0.0.3")]), "b"))
    new = pod(containers=[port(80)])
    them.drop("10.0.0.1")
    assert set(closed(new, them)) == {"a", "b"}
    assert closed(pod(containers=[port(80, "10.0.0.1")]), them) == {}
    them.drop("10.0.0.2")
    assert set(closed(new, them)) == {"b"}
    them.put(pod("fourth", containers=[port(80, "10.0.0.3")]), "b")
    them.drop("third")
    assert set(closed(new, them)) == {"b"}
    them.drop("fourth")
    assert closed(new, them) == {}


def asking(name: str = "new", **asked: Any) -> Pod:
    names = {"disk": "ephemeral-storage", "huge": "hugepages-1Gi", "pages": "hugepages-2Mi"}
    requests = {names[key]: value for key, value in asked.items()}
    return pod(name, containers=[{"name": "main", "resources": {"requests": requests}}])


def test_counted_resources_close_nodes_that_have_too_little_left() -> None:
    there = fleet(
        node("a", allocatable={"hugepages-1Gi": "2", "ephemeral-storage": "10Gi"}),
        node("b", allocatable={"hugepages-1Gi": 8, "hugepages-2Mi": "4Mi"}),
    )
    them = crowd((asking("old", huge=1), "a"), (asking("older", disk="4Gi"), "a"))
    assert closed(asking(huge=1), them, there) == {}
    assert closed(asking(huge=2), them, there) == {"a": "too little hugepages-1Gi left"}
    assert set(closed(asking(disk="6Gi"), them, there)) == {"b"}
    assert set(closed(asking(disk="7Gi"), them, there)) == {"a", "b"}
    assert set(closed(asking(pages="4Mi"), them, there)) == {"a"}
    assert set(closed(asking(pages="6Mi"), them, there)) == {"a", "b"}


def test_a_node_that_lost_devices_is_closed_and_nothing_wraps_around() -> None:
    there = fleet(node("a", allocatable={"hugepages-1Gi": 1}))
    them = crowd((asking("old", huge=4), "a"))
    assert set(closed(asking(huge=1), them, there)) == {"a"}
    assert closed(asking(huge=0), them, there) == {}


def test_pods_keep_away_from_others_in_the_whole_domain() -> None:
    them = crowd((web(), "a"))
    new = pod(affinity=apart(term(ZONE, labels=WEB)))
    assert closed(new, them) == {
        "a": f"{ZONE} x has a pod it must keep away from",
        "b": f"{ZONE} x has a pod it must keep away from",
    }
    assert set(closed(pod(affinity=apart(term(HOST, labels=WEB))), them)) == {"a"}


def test_pods_that_are_there_already_keep_others_away() -> None:
    them = crowd((pod("old", affinity=apart(term(ZONE, labels=WEB))), "c"))
    assert closed(web(), them) == {"c": f"{ZONE} y has a pod that keeps it away"}
    assert closed(pod(), them) == {}
    assert closed(web(namespace="other"), them) == {}


def test_a_pod_in_a_domain_without_name_keeps_nobody_away() -> None:
    them = crowd((pod("old", affinity=apart(term(ZONE, labels=WEB))), "d"))
    assert closed(web(), them) == {}


def test_pods_go_where_those_are_that_they_have_to_be_near() -> None:
    them = crowd((web(), "a"))
    new = pod(affinity=near(term(ZONE, labels=WEB)))
    assert closed(new, them) == {
        "c": f"{ZONE} y lacks a pod it has to be near",
        "d": f"no label {ZONE}",
    }


def test_the_first_of_pods_that_want_to_be_near_each_other_may_go_anywhere() -> None:
    new = web(affinity=near(term(ZONE, labels=WEB)))
    assert set(closed(new, crowd())) == {"d"}
    assert set(closed(new, crowd((web("old"), "c")))) == {"a", "b", "d"}
    assert set(closed(new, crowd((web("old"), "d")))) == {"d"}
    assert set(closed(new, crowd((web("old", namespace="other"), "c")))) == {"d"}


def test_a_pod_that_wants_to_be_near_others_than_itself_waits_for_them() -> None:
    assert set(closed(pod(affinity=near(term(ZONE, labels=WEB))), crowd())) == set("abcd")


def test_the_pods_to_be_near_have_to_be_meant_by_all_terms_at_once() -> None:
    both = near(term(ZONE, labels={"a": "1"}), term(HOST, labels={"b": "2"}))
    them = crowd((pod("one", labels={"a": "1"}), "a"), (pod("two", labels={"b": "2"}), "a"))
    assert set(closed(pod(affinity=both), them)) == set("abcd")
    them.put(pod("both", labels={"a": "1", "b": "2"}), "b")
    assert set(closed(pod(affinity=both), them)) == set("acd")


def spread_web(**more: Any) -> Pod:
    return web(topologySpreadConstraints=[spread(ZONE, WEB, **more)])


def test_domains_with_too_many_pods_are_closed() -> None:
    them = crowd((web("1"), "a"), (web("2"), "b"))
    assert closed(spread_web(), them) == {
        "a": f"{ZONE} x has too many pods like it already",
        "b": f"{ZONE} x has too many pods like it already",
        "d": f"no label {ZONE}",
    }
    assert set(closed(spread_web(skew=3), them)) == {"d"}


def test_a_pod_that_is_not_counted_itself_may_go_one_further() -> None:
    them = crowd((web("1"), "a"))
    uncounted = pod(topologySpreadConstraints=[spread(ZONE, WEB)])
    assert set(closed(uncounted, them)) == {"d"}
    them.put(web("2"), "a")
    assert set(closed(uncounted, them)) == {"a", "b", "d"}


def test_with_too_few_domains_the_fewest_count_as_none() -> None:
    them = crowd((web("1"), "a"), (web("2"), "c"))
    assert set(closed(spread_web(minDomains=2), them)) == {"d"}
    assert set(closed(spread_web(minDomains=3), them)) == set("abcd")


def test_pods_that_leave_and_pods_of_other_namespaces_are_not_counted() -> None:
    gone = msgspec.structs.replace(web("1").metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    leaving = msgspec.structs.replace(web("1"), metadata=gone)
    them = crowd((leaving, "a"), (web("2", namespace="other"), "a"))
    assert set(closed(spread_web(), them)) == {"d"}
    assert set(closed(pod(affinity=apart(term(HOST, labels=WEB))), crowd((leaving, "a")))) == {"a"}


def test_domains_that_are_out_of_reach_do_not_count_as_empty() -> None:
    there = fleet(node("a", {ZONE: "x", "gpu": "1"}), node("b", {ZONE: "y"}))
    them = crowd((web("1"), "a"))
    choosy = web(nodeSelector={"gpu": "1"}, topologySpreadConstraints=[spread(ZONE, WEB)])
    assert closed(choosy, them, there) == {}
    ignoring = spread(ZONE, WEB, nodeAffinityPolicy="Ignore")
    blind = web(nodeSelector={"gpu": "1"}, topologySpreadConstraints=[ignoring])
    assert set(closed(blind, them, there)) == {"a"}


def test_taints_hide_domains_where_spreading_is_told_to_honour_them() -> None:
    there = fleet(node("a", {ZONE: "x"}), node("b", {ZONE: "y"}, [("t", "", "NoSchedule")]))
    them = crowd((web("1"), "a"))
    assert set(closed(spread_web(), them, there)) == {"a"}
    assert closed(spread_web(nodeTaintsPolicy="Honor"), them, there) == {}


def stored(*limits: tuple[str, int]) -> Volumes:
    made = Volumes()
    for name in ("one", "two", "alone"):
        modes = ["ReadWriteOncePod"] if name == "alone" else ["ReadWriteOnce"]
        spec = {"volumeName": name, "accessModes": modes}
        meta = {"name": name, "namespace": "ns"}
        made.put(msgspec.convert({"metadata": meta, "spec": spec}, PersistentVolumeClaim))
        csi = {"csi": {"driver": "d", "volumeHandle": name}}
        made.put(msgspec.convert({"metadata": {"name": name}, "spec": csi}, PersistentVolume))
    for node_name, count in limits:
        drivers = [{"name": "d", "allocatable": {"count": count}}, {"name": "e"}]
        body = {"metadata": {"name": node_name}, "spec": {"drivers": drivers}}
        made.put(msgspec.convert(body, CSINode))
    return made


def mounting(*claims: str, name: str = "new") -> Pod:
    volumes = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
    return pod(name, volumes=volumes)


def test_a_node_takes_no_more_volumes_than_its_driver_says() -> None:
    them = crowd((mounting("one", name="old"), "a"), volumes=stored(("a", 1), ("b", 2)))
    assert closed(mounting("two"), them) == {"a": "no more volumes of d can be attached"}
    assert closed(mounting("one"), them) == {}
    assert set(closed(mounting("one", "two"), them)) == {"a"}


def test_a_volume_that_two_pods_share_is_attached_once_and_until_both_are_gone() -> None:
    volumes = stored(("a", 1))
    sharing = [(mounting("one", name=name), "a") for name in ("old", "older")]
    them = crowd(*sharing, volumes=volumes)
    them.drop("old")
    assert set(closed(mounting("two"), them)) == {"a"}
    them.drop("older")
    assert closed(mounting("two"), them) == {}


def test_drivers_are_counted_apart() -> None:
    volumes = stored(("a", 1))
    body = {"metadata": {"name": "other", "namespace": "ns"}, "spec": {"volumeName": "other"}}
    volumes.put(msgspec.convert(body, PersistentVolumeClaim))
    csi = {"csi": {"driver": "e", "volumeHandle": "other"}}
    volumes.put(msgspec.convert({"metadata": {"name": "other"}, "spec": csi}, PersistentVolume))
    them = crowd((mounting("one", name="old"), "a"), volumes=volumes)
    assert closed(mounting("other"), them) == {}
    assert closed(mounting("other", "two"), them) == {"a": "no more volumes of d can be attached"}


def test_volumes_that_are_still_attached_count() -> None:
    volumes = stored(("a", 1))
    spec = {"attacher": "d", "nodeName": "a", "source": {"persistentVolumeName": "one"}}
    volumes.put(msgspec.convert({"metadata": {"name": "at"}, "spec": spec}, VolumeAttachment))
    them = crowd(volumes=volumes)
    assert set(closed(mounting("two"), them)) == {"a"}
    assert closed(mounting("one"), them) == {}


def test_a_volume_that_is_in_use_and_attached_counts_once() -> None:
    volumes = stored(("a", 2))
    spec = {"attacher": "d", "nodeName": "a", "source": {"persistentVolumeName": "one"}}
    volumes.put(msgspec.convert({"metadata": {"name": "at"}, "spec": spec}, VolumeAttachment))
    them = crowd((mounting("one", name="old"), "a"), volumes=volumes)
    assert closed(mounting("two"), them) == {}
    assert set(closed(mounting("two", "alone"), them)) == {"a"}


def test_a_claim_for_one_pod_that_is_in_use_closes_every_node() -> None:
    them = crowd((mounting("alone", name="old"), "a"), volumes=stored())
    assert set(closed(mounting("alone"), them)) == set("abcd")
    them.drop("old")
    assert closed(mounting("alone"), them) == {}


def test_nodes_that_are_not_there_are_not_listed() -> None:
    them = crowd((pod("old", containers=[port(80)]), "elsewhere"), (web(), "elsewhere"))
    assert closed(pod(containers=[port(80)]), them) == {}
    assert closed(pod(affinity=apart(term(HOST, labels=WEB))), them) == {}


def test_the_reason_does_not_depend_on_who_came_first() -> None:
    keeps = [(pod(key, affinity=apart(term(key, labels=WEB))), "a") for key in (ZONE, HOST)]
    assert closed(web(), crowd(*keeps)) == closed(web(), crowd(*reversed(keeps)))


def test_sets_of_nodes_have_short_names() -> None:
    assert bar_id([]) == ""
    assert bar_id(["a", "b"]) == bar_id(["b", "a", "a"]) != bar_id(["ab"])
    assert len(bar_id(str(number) for number in range(5000))) == 16
