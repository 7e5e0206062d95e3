"""What is known of storage."""

from typing import Any

import msgspec

from ganglion.worlds.kubernetes.feasibility.volumes import Mount, Volumes, mounts_of
from ganglion.worlds.kubernetes.types.storage import (
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from tests.worlds.kubernetes.feasibility.make import pod


def claim(**spec: Any) -> PersistentVolumeClaim:
    body = {"metadata": {"name": "data", "namespace": "ns"}, "spec": spec}
    return msgspec.convert(body, PersistentVolumeClaim)


def volume(name: str = "v", **csi: str) -> PersistentVolume:
    body = {"metadata": {"name": name}, "spec": {"csi": csi} if csi else {}}
    return msgspec.convert(body, PersistentVolume)


def attachment(node: str, attacher: str = "d") -> VolumeAttachment:
    spec = {"attacher": attacher, "nodeName": node, "source": {"persistentVolumeName": "v"}}
    return msgspec.convert({"metadata": {"name": "at"}, "spec": spec}, VolumeAttachment)


def known(*stored: Any) -> Volumes:
    made = Volumes()
    for each in stored:
        made.put(each)
    return made


def test_a_pod_mounts_claims_and_what_is_made_for_it() -> None:
    volumes = [
        {"name": "a", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "b", "ephemeral": {"volumeClaimTemplate": {}}},
        {"name": "c", "emptyDir": {}},
    ]
    assert list(mounts_of(pod(volumes=volumes))) == [Mount("ns/data", False), Mount("ns/p-b", True)]


def test_a_claim_is_known_by_the_handle_of_its_volume() -> None:
    bound = claim(volumeName="v")
    assert known(bound, volume(driver="d", volumeHandle="h")).handle("ns/data") == ("d", "h")
    assert known(bound, volume()).handle("ns/data") is None
    assert known().handle("ns/data") is None


def test_a_claim_without_a_volume_counts_for_the_driver_that_will_make_it() -> None:
    made_by = msgspec.convert({"metadata": {"name": "s"}, "provisioner": "d"}, StorageClass)
    assert known(claim(storageClassName="s"), made_by).handle("ns/data") == ("d", "claim ns/data")
    assert known(claim(storageClassName="s")).handle("ns/data") is None


def test_a_claim_for_one_pod_is_known_as_such() -> None:
    assert known(claim(accessModes=["ReadWriteOncePod"])).only_for_one("ns/data")
    assert not known(claim(accessModes=["ReadWriteOnce"])).only_for_one("ns/data")
    assert not known().only_for_one("ns/data")


def test_attachments_follow_their_objects() -> None:
    volumes = known(volume(driver="d", volumeHandle="h"), attachment("n1"))
    assert list(volumes.attached_to("n1")) == [("d", "h")]
    volumes.put(attachment("n2"))
    assert list(volumes.attached_to("n1")) == []
    assert list(volumes.attached_to("n2")) == [("d", "h")]
    volumes.drop(attachment("n2"))
    assert list(volumes.attached_to("n2")) == []


def test_attachments_without_a_driver_or_a_volume_do_not_count() -> None:
    assert (
        list(known(volume(driver="d", volumeHandle="h"), attachment("n", "")).attached_to("n"))
        == []
    )
    assert list(known(attachment("n")).attached_to("n")) == []
    assert list(known(volume(), attachment("n")).attached_to("n")) == []


def test_every_change_is_counted_and_what_is_gone_is_gone() -> None:
    volumes = known(claim())
    before = volumes.version
    volumes.drop(claim())
    assert volumes.version > before
    assert not volumes.claims
