"""Curves of attempts lie beside their logs."""

from pathlib import Path
from unittest.mock import patch

import msgspec
import pytest
from fastapi.testclient import TestClient

from ganglion.ledger.records import Entry
from ganglion.model import events as ev
from ganglion.server.requests.context import ServerContext
from ganglion.server.telemetry.curves import (
    FILE,
    REPORTED,
    USED,
    AttemptCurves,
    AttemptUse,
)
from ganglion.worlds.local.machine.use import GpuUse
from ganglion.worlds.local.run_files import paths
from tests.server.conftest import Rig
from tests.server.test_workloads import post, wait_for

GANG = "a-1/0"
ALLOCATED, ACTIVE = "ganglion_gpu_allocated_ratio", "ganglion_gpu_active_ratio"
LABELS = {ALLOCATED: {"flavor": "H100"}, ACTIVE: {"queue": "default"}}


def entry(event: ev.Event) -> Entry:
    return Entry(1, event.at, 1, str(event.__struct_config__.tag), msgspec.json.encode(event))


class Measured:
    """An attempt whose use is as a test says."""

    def __init__(self, home: Path) -> None:
        self.now = 1_000
        self.values = {"gpu_busy_milli": 900}
        self.curves = AttemptCurves(home, lambda: self.now)
        self.curves.measure_by(lambda: [AttemptUse(GANG, 2, self.values)])

    def shown(self) -> dict[int, dict[tuple[str, str], list[tuple[int, int, float]]]]:
        found = self.curves.of(GANG)
        return {
            attempt: {key: curve.points for key, curve in curves.items()}
            for attempt, curves in found.items()
        }


def test_what_is_used_and_reported_outlives_the_attempt_and_the_server(tmp_path: Path) -> None:
    folder = paths.run_dir(tmp_path, GANG, 2)
    folder.mkdir(parents=True)
    one = Measured(tmp_path)
    one.curves.sample()
    one.curves.note([entry(ev.MetricReported(1_500, GANG, 2, "loss", 10, 0.5))])
    expected = {
        (USED, "gpu_busy_milli"): [(1_000, 0, 900.0)],
        (REPORTED, "loss"): [(1_500, 10, 0.5)],
    }
    assert one.shown() == {2: expected}
    one.curves.save()
    assert not (folder / FILE).exists()
    one.curves.close()
    one.curves.save(everything=True)
    two = Measured(tmp_path)
    assert two.shown() == {2: expected}
    two.now, two.values = 11_000, {"gpu_busy_milli": 100}
    two.curves.sample()
    two.curves.note([entry(ev.GangEnded(12_000, GANG, 2, ev.Outcome.SUCCEEDED))])
    two.curves.save()
    three = Measured(tmp_path)
    expected[USED, "gpu_busy_milli"].append((11_000, 0, 100.0))
    assert three.shown() == {2: expected}


def test_a_damaged_file_is_no_curve_and_harms_none(tmp_path: Path) -> None:
    folder = paths.run_dir(tmp_path, GANG, 2)
    folder.mkdir(parents=True)
    for text in ("{", "[]", '{"used": {"power_mw": {}}}', '{"used": {"x": {"points": [1]}}}'):
        (folder / FILE).write_text(text)
        assert Measured(tmp_path).shown() == {}
    one = Measured(tmp_path)
    one.curves.sample()
    one.curves.save(everything=True)
    assert Measured(tmp_path).shown() == {2: {(USED, "gpu_busy_milli"): [(1_000, 0, 900.0)]}}


@pytest.mark.parametrize("gang", ["b-1/0"])
def test_nothing_is_written_of_attempts_whose_folder_is_gone(tmp_path: Path, gang: str) -> None:
    one = Measured(tmp_path)
    one.curves.sample()
    one.curves.save(everything=True)
    assert one.curves.of(gang) == {}
    assert not paths.run_dir(tmp_path, GANG, 2).exists()


def test_how_much_of_the_gpus_was_in_use_and_busy_is_a_histogram(
    client: TestClient, context: ServerContext, rig: Rig
) -> None:
    def seen(name: str) -> float:
        found = rig.metrics.registry.get_sample_value(f"{name}_sum", LABELS[name])
        return found or 0.0

    context.curves.sample()
    assert (seen(ALLOCATED), seen(ACTIVE)) == (0, 0)
    post(client, resources={"gpus": 4})
    wait_for(client, "a", "RUNNING")
    with patch.object(context.uses, "gpus", lambda uuids: [GpuUse(busy_milli=250) for _ in uuids]):
        context.curves.sample()
    assert (seen(ALLOCATED), seen(ACTIVE)) == (0.25, 1.0)
