"""What GPUs did reaches the ledger once, whatever happens to the server."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from httpx2 import MockTransport, Response
from msgspec.structs import replace

from ganglion import __version__
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.metering import UsageWanted, activity_sums
from ganglion.ledger.transfer import exported, imported
from ganglion.metering.activity import ActivityInterval, AttemptLook, DeviceCounters
from ganglion.metering.sums import ActivitySum, UsageBy
from ganglion.model.errors import EnvironmentFault
from ganglion.model.events import GangEnded, NodeAdded, ServerStarted
from ganglion.server.recovery.verify import verified
from ganglion.server.telemetry.activity import GpuActivity, WritingTurn
from ganglion.server.views.usage import opened, usage_report
from ganglion.server.views.use import activity_looks, snapshot
from ganglion.worlds.dcgm import DcgmCounters
from ganglion.worlds.local.machine.gpu_use import NvmlCounters
from tests.server.conftest import NODES, Rig

FOR_EVER = 1 << 60
LOOK_MS = 10_000
Command = Callable[[WritingTurn], None]


class Looked:
    """A job with 2 GPUs that are busy for a quarter of the time, looked at by a server."""

    def __init__(self, rig: Rig) -> None:
        self.rig, self.activity = rig, GpuActivity()
        self.begin()
        self.job = rig.submit("a", resources={"gpus": 2})
        rig.turn(2)
        self.at = rig.machine.time

    def begin(self) -> None:
        self.rig.do(lambda draft: draft.record(ServerStarted(draft.now, __version__, metered=True)))

    def look(self, times: int = 1) -> None:
        """Look at the GPUs again and again."""
        for _ in range(times):
            self.at += LOOK_MS
            self.rig.machine.time = self.at
            whose = ("default", "ada", self.job, f"{self.job}/0", 1, "train", "H100", "n0", "nvml")
            said = DeviceCounters(250, self.at)
            devices = {"GPU-0": said, "GPU-1": said}
            of = ActivityInterval(0, 0, *whose, energy_source="dcgm")
            self.activity.look(self.at, [AttemptLook(of, devices)])

    def flush(self, ask: Callable[[Command], Any] | None = None) -> None:
        self.activity.flush(ask or self.rig.do, everything=True)

    def written(self) -> ActivitySum:
        wanted = UsageWanted((), 0, FOR_EVER, FOR_EVER)
        return activity_sums(self.rig.ledger, wanted).get((), ActivitySum())


@pytest.fixture
def looked(rig: Rig) -> Looked:
    return Looked(rig)


def quarter(looks: int) -> ActivitySum:
    lasted = looks * LOOK_MS * 2_000
    return ActivitySum(lasted, lasted // 4, lasted, looks * LOOK_MS * 2, {"nvml"}, {"dcgm"})


def test_a_report_shows_it_before_and_after_it_is_written(looked: Looked) -> None:
    looked.look(7)
    rows = []
    for _ in range(2):
        now = looked.rig.machine.time
        with looked.rig.service.read() as mind:
            found = opened(mind, looked.rig.ledger, now, looked.activity.unwritten)
        args = ([UsageBy.QUEUE], (0, now), None)
        rows.append(usage_report(looked.rig.ledger, found, *args, fleet=True).rows[0])
        looked.flush()
    one, other = (replace(each, held_gpu_us=0, requested_gpu_us=0) for each in rows)
    assert one == other
    assert (one.sampled_gpu_us, one.active_gpu_us) == (120_000_000, 30_000_000)
    assert (one.active_by, one.energy_mj, one.energy_by) == ("nvml", 120_000, "dcgm")
    assert one.sampled_gpu_us <= rows[0].held_gpu_us
    assert looked.activity.unwritten(FOR_EVER) == ()
    assert looked.written() == quarter(6)


def test_nothing_counts_twice_where_an_answer_is_lost_or_the_server_is_killed(
    looked: Looked,
) -> None:
    def lost(command: Command) -> None:
        looked.rig.do(command)
        raise EnvironmentFault("no answer", "")

    looked.look(3)
    looked.flush(lost)
    looked.look(2)
    looked.flush()
    assert looked.written() == quarter(4)
    looked.look(1)  # and is killed
    looked.rig.crash()
    looked.begin()
    looked.activity = GpuActivity()
    looked.at -= 4 * LOOK_MS  # the clock is put back as well
    looked.look(6)
    looked.flush()
    assert looked.written() == quarter(7)  # from the first look to the last one
    with looked.rig.ledger.still() as reader:
        assert verified(reader).flaws == []


def test_a_turn_that_is_refused_loses_nothing(looked: Looked) -> None:
    def refused(_command: Command) -> None:
        raise EnvironmentFault("the disk is full", "")

    looked.look(3)
    looked.flush(refused)
    assert looked.written() == ActivitySum()
    looked.flush()
    assert looked.written() == quarter(2)


def test_an_attempt_that_ends_in_the_turn_that_writes_waits_for_the_next(looked: Looked) -> None:
    looked.look(3)
    gang = f"{looked.job}/0"
    end = looked.at - LOOK_MS
    ended = GangEnded(end, gang, 1, outcome="succeeded")  # type: ignore[arg-type]
    turn = SimpleNamespace(batch=SimpleNamespace(incoming=[ended]), ledger=looked.rig.ledger)
    looked.flush(lambda command: command(turn))  # type: ignore[arg-type]
    assert turn.batch.activity == []
    looked.activity.ended(gang, 1, end)
    looked.flush()
    assert looked.written() == quarter(1)


def test_exports_have_it(looked: Looked, tmp_path: Path) -> None:
    looked.look(3)
    looked.flush()
    exported(looked.rig.ledger, tmp_path / "out.jsonl")
    copy = Ledger.open(tmp_path / "copy.db")
    imported(copy, tmp_path / "out.jsonl")
    assert activity_sums(copy, UsageWanted((), 0, FOR_EVER, FOR_EVER))[()] == quarter(2)
    copy.close()


DAMAGE = {
    "UPDATE activity SET active_gpu_us = sampled_gpu_us + 1": "were active of",
    "UPDATE activity SET sampled_gpu_us = 80000001": "80000001 GPU-microseconds were sampled of",
    "UPDATE activity SET energy_gpu_us = 80000001": "were measured for energy of",
    "UPDATE activity SET energy_mj = 11 * energy_gpu_us": "which is more than any does",
    "UPDATE activity SET sampled_gpu_us = -1, active_gpu_us = -1": "an amount is below 0",
    "UPDATE activity SET queue = 'other'": "was not charged to queue 'other' then",
    "UPDATE activity SET attempt = 2": "held nothing there then",
    "UPDATE activity SET node = 'n1'": "held nothing there then",
    "UPDATE activity SET begin_ms = begin_ms - 10000000000": "does not lie within one day",
    "UPDATE activity SET begin_ms = begin_ms - 10000": "overlaps another one of its attempt",
    "DELETE FROM activity": "is missing",
}


def test_a_row_that_does_not_fit_to_what_was_held_is_named(looked: Looked) -> None:
    for _ in range(2):
        looked.look(4)
        looked.flush()
    with looked.rig.ledger.still() as reader:
        assert verified(reader).flaws == []
    for change, wrong in DAMAGE.items():
        number = 1 if change.startswith("DELETE") else 2
        file = looked.rig.home.ledger
        with closing(sqlite3.connect(file)) as raw:
            raw.execute("CREATE TABLE spare AS SELECT * FROM activity")
            assert raw.execute(f"{change} WHERE number = ?", (number,)).rowcount == 1
            raw.commit()
        with looked.rig.ledger.still() as reader:
            (flaw,) = verified(reader).flaws
        assert flaw.kind == "activity"
        assert flaw.problem.startswith(f"row {number}")
        assert wrong in flaw.problem
        with closing(sqlite3.connect(file)) as raw:
            raw.execute("DELETE FROM activity")
            raw.execute("INSERT INTO activity SELECT * FROM spare")
            raw.execute("DROP TABLE spare")
            raw.commit()


def test_gpus_that_several_share_or_that_are_made_up_are_not_looked_at(rig: Rig) -> None:
    device = NODES[0].devices[0]
    real = tuple(replace(device, uuid=f"GPU-{each}") for each in range(8))
    started = ServerStarted(1, __version__, metered=True)
    rig.do(lambda draft: draft.record(started))
    rig.do(lambda draft: draft.record(NodeAdded(draft.now, replace(NODES[0], devices=real))))
    jobs = [
        rig.submit(name, resources={"gpus": gpus})
        for name, gpus in (("whole", 2), ("one", 0.5), ("two", 0.5))
    ]
    rig.turn(4)
    with rig.service.read() as mind:
        metered = mind.book.meter.attempts
        found = snapshot(mind.state, metered.values())
        placed = metered[f"{jobs[0]}/0"].open["n0"].since
    assert {holder.workload for holder in found.holders} == {*jobs}

    def samples(_handle: str, _kind: int, _since: int) -> Any:
        times = (1, 4)
        said = [
            SimpleNamespace(timeStamp=at, sampleValue=SimpleNamespace(uiVal=10 * at))
            for at in times
        ]
        return 0, said

    nvml = SimpleNamespace(
        NVMLError=KeyError,
        NVML_GPU_UTILIZATION_SAMPLES=1,
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByUUID=str,
        nvmlDeviceGetSamples=samples,
        nvmlDeviceGetTotalEnergyConsumption={"GPU-0": 77}.__getitem__,
    )
    (look,) = activity_looks(found, NvmlCounters(nvml))
    assert (look.of.source, look.of.energy_source) == ("nvml", "nvml")
    assert look.of.workload == jobs[0]
    assert look.of.begin_ms == look.of.end_ms == placed > 0
    assert [*look.devices.values()] == [DeviceCounters(250, 77), DeviceCounters(250, None)]
    page = 'DCGM_FI_PROF_SM_ACTIVE{UUID="GPU-1"} 0.125\nDCGM_FI_DEV_POWER_USAGE{UUID="GPU-0"} 70.5'
    exporter = DcgmCounters(
        "http://gpus:9400", transport=MockTransport(lambda _: Response(200, text=page))
    )
    (look,) = activity_looks(found, exporter)
    assert (look.of.source, look.of.energy_source) == ("dcgm-sm", "dcgm-power")
    assert look.devices == {
        "GPU-0": DeviceCounters(None, None, 70_500),
        "GPU-1": DeviceCounters(125),
    }
    absent = DcgmCounters("http://gpus:9400", transport=MockTransport(lambda _: Response(503)))
    (look,) = activity_looks(found, absent)
    assert set(look.devices.values()) == {DeviceCounters()}
