"""The record on a pod of the devices that it has."""

import pytest

from ganglion.worlds.kubernetes.types.meta import Meta
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.write_rules.devices import record, recorded


@pytest.mark.parametrize("text", ["", "a", "0,,1", "-1", "0;1", "٣", "²", "9" * 5000])
def test_a_record_of_devices_that_is_not_one_counts_as_none(text: str) -> None:
    assert recorded(Pod(Meta(annotations={"ganglion.dev/devices": text}))) == ()


def test_devices_are_recorded_in_order_and_nothing_for_nothing() -> None:
    notes = record({10, 2}, "amd.com/gpu")
    assert notes == {
        "ganglion.dev/devices": "2,10",
        "ganglion.dev/cdi-devices": "amd.com/gpu=2,amd.com/gpu=10",
    }
    assert recorded(Pod(Meta(annotations=notes))) == (2, 10)
    assert record(()) == {}
    assert "ganglion.dev/cdi-devices" not in record((0,), "nvidia.com/mig-1g.10gb")
