"""What GPUs of a cluster do, from the exporters of its nodes to the ledger of a server."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any, cast

import httpx2
import pytest

from ganglion.api.use import UtilisationRow
from ganglion.lifecycle.workspaces.dcgm import figures
from ganglion.metering.activity import AttemptLook, DeviceCounters
from ganglion.metering.sums import UsageBy
from ganglion.model.events import DeliveryRecord, GpusSampled
from ganglion.model.queue import Queue
from ganglion.seams.clock import SystemClock
from ganglion.server.cluster.activity import exporters
from ganglion.server.cluster.activity.looks import HeldGpus, held_gpus, looks
from ganglion.server.cluster.activity.sampler import GpuSampler
from ganglion.server.cluster.activity.sums import LONGEST_MS, GpuSums
from ganglion.server.cluster.outbox.turns import TurnReports
from ganglion.server.delivered.receive import receive
from ganglion.server.recovery.verify import verified
from ganglion.server.signals.scraper import MOST_AT_ONCE
from ganglion.server.views.report import OpenWaits, ReportWanted, SchedulerFigures, report
from ganglion.server.views.usage import opened, usage_report
from ganglion.worlds.kubernetes.controller import ClusterController
from ganglion.worlds.kubernetes.scheduler import Scheduler
from tests.controlplane import manifests
from tests.server.conftest import Rig
from tests.worlds.kubernetes.controller.stage import Stage

EVERY_MS = 30_000
SCHEDULER = "000000000001-00000001"


def page(pod: str, gpus: int, **metrics: object) -> str:
    """What an exporter says of the GPUs of a pod."""
    labels = 'gpu="{n}",UUID="GPU-{n}",namespace="default",pod="{pod}",container="main"'
    names = {"sm": "PROF_SM_ACTIVE", "util": "DEV_GPU_UTIL", "power": "DEV_POWER_USAGE"}
    names["energy"] = "DEV_TOTAL_ENERGY_CONSUMPTION"
    return "".join(
        f"DCGM_FI_{names[name]}{{{labels.format(n=n, pod=pod)}}} {value}\n"
        for name, value in metrics.items()
        for n in range(gpus)
    )


class Exporters:
    """Real ones as far as HTTP goes: each has an address of this machine, and one port.

    Attributes:
        pages: address -> what it answers; one without an answer closes the connection.
    """

    def __init__(self) -> None:
        self.pages: dict[str, bytes] = {}
        said = self.pages

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = said.get(self.headers["Host"].partition(":")[0])
                if body is None:
                    return  # the connection is closed without a word
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Be quiet."""

        self.server = ThreadingHTTPServer(("0.0.0.0", 0), Answer)
        self.thread = Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class SetClock(SystemClock):
    """Goes on by hand; the wall clock may be set."""

    wall, steady = 1_000_000, 0.0

    def now_ms(self) -> int:
        return self.wall

    def monotonic(self) -> float:
        return self.steady


class East:
    """A cluster of nodes with an exporter each, its scheduler, and the server it delivers to."""

    def __init__(
        self, folder: Path, nodes: int, queues: Sequence[Queue] = (Queue("default"),)
    ) -> None:
        self.stage, self.clock, self.sums = Stage(queues=queues), SetClock(), GpuSums()
        self.reports = TurnReports("pod-a", (), self.sums)
        self.sampler = GpuSampler(cast("Scheduler", self), self.sums, self.clock)
        self.rig, self.number = Rig(folder), 0
        self.reported: dict[str, UtilisationRow] = {}
        self.rig.do(lambda draft: draft.began())
        self.ready = SimpleNamespace(is_set=lambda: True)
        for n in range(nodes):
            self.stage.show(manifests.node(f"n{n}", gpus=4), self._exporter(n))

    def _exporter(self, n: int) -> dict[str, Any]:
        labels = {"app": "nvidia-dcgm-exporter"}
        made = manifests.pod(
            f"dcgm-{n}",
            namespace="gpus",
            gpus=0,
            scheduler="other",
            labels=labels,
            nodeName=f"n{n}",
        )
        return made | {"status": {"phase": "Running", "podIP": f"127.0.0.{n + 2}"}}

    @contextmanager
    def read(self) -> Iterator[ClusterController]:
        yield self.stage.controller

    def leads(self) -> bool:
        return True

    def run(self, *names: str) -> dict[str, str]:
        """Gangs of one pod and all GPUs of a node; returns the node of each."""
        for each in names:
            self.stage.show(*manifests.gang(each, 1, gpus=4))
        self.turn()
        found = {}
        for attempt in self.stage.controller.scene.attempts.by_gang.values():
            (place,) = attempt.places.values()
            name = attempt.gang.rpartition("/")[2]
            assert name in names, attempt.gang
            found[name] = place.node
            (pod,) = manifests.gang(name, 1, gpus=4, nodeName=place.node)
            self.stage.show(pod | {"status": {"phase": "Running"}})
        self.turn()
        return found

    def turn(self) -> None:
        """The scheduler decides and delivers."""
        self.stage.now = self.clock.wall - 1_000
        self.stage.turn()
        self.deliver(self.reports.of(self.stage.controller, self.stage.now))

    def deliver(self, parts: Sequence[Any]) -> None:
        records = []
        for part in parts:
            self.number += 1
            records.append(DeliveryRecord(self.number, part.at, part.facts, part.decisions))
        self.rig.machine.time = max(self.rig.machine.time, self.clock.wall)
        self.rig.do(lambda draft: receive(draft, "east", SCHEDULER, records))

    def passes(self, ms: int = EVERY_MS) -> None:
        self.clock.wall += ms
        self.clock.steady += ms / 1000

    def look(self) -> None:
        self.passes()
        self.sampler.sample()
        self.turn()

    def usage(self) -> dict[str, Any]:
        """Rows of the report by workload, by the name of the gang."""
        now = self.rig.machine.time
        with self.rig.service.read() as mind:
            found = opened(mind, self.rig.ledger, now)
        by = ([UsageBy.WORKLOAD, UsageBy.QUEUE], (0, now), None)
        rows = usage_report(self.rig.ledger, found, *by, fleet=True).rows
        wanted = ReportWanted(0, now, None, fleet=True)
        said = report(
            *(self.rig.ledger, found, OpenWaits((), {}), ()),
            *(SchedulerFigures((), None), wanted, now),
        )
        self.reported = {each.queue: each for each in said.utilisation}
        with self.rig.ledger.still() as reader:
            assert verified(reader).flaws == []
        return {each.workload.rpartition("/")[2]: each for each in rows}


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[East, Exporters]]:
    there, east = Exporters(), East(tmp_path / "home", 4)
    monkeypatch.setattr(exporters, "EXPORTER_PORT", there.server.server_port)
    monkeypatch.setattr(exporters, "LONGEST_S", 600.0)
    monkeypatch.setattr("ganglion.server.signals.scraper.PATIENCE_S", 300.0)
    yield east, there
    there.close()
    east.rig.ledger.close()


def test_what_gpus_did_is_in_the_usage_of_clusters_and_each_exporter_stands_alone(
    cluster: tuple[East, Exporters],
) -> None:
    east, there = cluster
    on = {name: f"127.0.0.{int(node[1:]) + 2}" for name, node in east.run(*"abcd").items()}
    assert len(set(on.values())) == 4
    for look in range(4):
        joules = 1_000_000 + look * 4_000
        sm = page("a-0", 4, sm=0.25, util=100, energy=joules, power=70)
        there.pages[on["a"]] = (sm + "DCGM_FI_PROF_SM_ACTIVE{nonsense\n").encode()
        there.pages[on["b"]] = page("b-0", 2, util=50, power=100.5, sm="NaN").encode()
        there.pages[on["c"]] = b"\xff\xfe<html>" * 100  # and of d there is no answer
        east.look()
    assert east.sampler.silent == {f"http://{on['d']}:{there.server.server_port}/metrics"}
    there.pages[on["a"]] = page("a-0", 4, sm=0.25, energy=7).encode()  # its counter was reset
    east.look()
    east.stage.remove(*manifests.gang("a", 1))
    east.stage.remove(*manifests.gang("b", 1))
    east.turn()
    rows = east.usage()
    a, b = rows["a"], rows["b"]
    lasted = 4 * EVERY_MS * 4_000
    assert (a.sampled_gpu_us, a.active_gpu_us, a.active_by) == (lasted, lasted // 4, "dcgm-sm")
    energy = (a.energy_mj, a.energy_gpu_us, a.energy_by)
    assert energy == (3 * 4 * 4_000, lasted * 3 // 4, "dcgm")
    assert (b.sampled_gpu_us, b.active_gpu_us, b.active_by) == (
        lasted // 2,
        lasted // 4,
        "dcgm-util",
    )
    assert (b.energy_mj, b.energy_by) == (100_500 * 2 * 4 * EVERY_MS // 1_000, "dcgm-power")
    assert b.queue == "east:default"
    for of in ("", "east:default"):
        row = east.reported[of]
        assert (row.sampled_gpu_us, row.energy_gpu_us) == (lasted * 3 // 2, lasted * 5 // 4)
        assert (row.active_gpu_us, row.active_by) == (lasted // 2, "dcgm-sm+dcgm-util")
        assert (row.energy_mj, row.energy_by) == (a.energy_mj + b.energy_mj, "dcgm+dcgm-power")
    for unknown in (rows["c"], rows["d"]):
        assert (unknown.active_gpu_us, unknown.energy_mj, unknown.active_by) == (None, None, "")
        assert unknown.held_gpu_us > lasted


def test_a_scheduler_that_ends_says_the_rest_and_what_is_missing_is_unknown(
    cluster: tuple[East, Exporters],
) -> None:
    east, there = cluster
    (node,) = east.run("a").values()
    there.pages[f"127.0.0.{int(node[1:]) + 2}"] = page("a-0", 4, sm=1).encode()
    for _ in range(3):
        east.look()
    east.clock.wall += 20_000  # it was set
    east.look()
    east.look()
    (said,) = east.sums.rest(east.clock.wall)
    east.deliver([SimpleNamespace(at=said.at, facts=(said,), decisions=())])
    assert east.usage()["a"].sampled_gpu_us == 3 * EVERY_MS * 4_000
    assert [*east.sums.rest(east.clock.wall)] == []
    east.passes(LONGEST_MS + 1)  # a gap, and then it is killed
    east.sampler.sample()
    assert [*east.sums.rest(east.clock.wall)] == []


def test_a_pod_with_a_part_of_a_gpu_has_none_alone() -> None:
    gfd = {"nvidia.com/gpu.product": "Tesla-T4", "nvidia.com/gpu.count": "2"}
    sliced = {"nvidia.com/gpu.product": "Tesla-T4-SHARED", "nvidia.com/gpu.replicas": "2"}
    found = []
    for labels in (gfd, gfd | sliced | {"nvidia.com/gpu.sharing-strategy": "time-slicing"}):
        stage = Stage()
        (pod,) = manifests.gang("one", 1, gpus=1)
        stage.show(manifests.node("n0", gpus=4, labels=labels), pod)
        stage.turn()
        stage.show(
            pod | {"spec": {**pod["spec"], "nodeName": "n0"}, "status": {"phase": "Running"}}
        )
        stage.turn()
        assert stage.controller.scene.attempts.by_gang
        found.append(held_gpus(stage.controller.scene))
    (held,), none = found
    assert (held.node, held.gpus, held.pods) == ("n0", 1, {("default", "one-0")})
    assert none == []


HELD = HeldGpus("g", 1, "n0", frozenset({("default", "a-0"), ("default", "a-1")}), 2)


def looked(text: str) -> list[AttemptLook]:
    return [*looks([HELD], {"n0": figures(text), "n1": figures(page("a-0", 2, sm=1))})]


def test_a_gpu_counts_for_the_pods_that_the_exporter_names_and_never_for_two() -> None:
    (look,) = looked(page("a-0", 2, sm=0.5) + page("x-0", 0, sm=1))
    assert look.devices == {f"GPU-{n}": DeviceCounters(500) for n in range(2)}
    shared = page("a-0", 2, sm=0.5) + page("x-0", 1, sm=0.5)
    assert [*looked(shared)[0].devices] == ["GPU-1"]
    assert looked(page("x-0", 2, sm=0.5)) == []
    assert looked(page("a-0", 3, sm=0.5)) == []  # more than it has
    part = page("a-0", 1, sm=0.5).replace('gpu="0"', 'gpu="0",GPU_I_ID="1"')
    assert looked(part) == []
    renamed = page("a-0", 1, sm=0.5).replace("namespace=", "exported_namespace=")
    (look,) = looked(renamed.replace("pod=", 'namespace="gpus",pod="dcgm",exported_pod='))
    assert [*look.devices] == ["GPU-0"]


@pytest.mark.parametrize("value", ["9223372036854775794", "-1", "1e300", "inf", "", "0x1", "1.01"])
def test_a_figure_that_makes_no_sense_is_unknown_and_not_nothing(value: str) -> None:
    (found,) = figures(page("a-0", 1, util=40) + page("a-0", 1, sm=value)).values()
    assert (found.sm_milli, found.utilised_milli) == (None, 400)


def test_exporters_that_are_silent_keep_no_other_from_being_heard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def said(_client: httpx2.AsyncClient, url: str) -> bytes:
        if "slow" in url:
            await asyncio.Event().wait()
        if "long" in url:
            raise ValueError("too much")
        return url.encode()

    monkeypatch.setattr(exporters, "LONGEST_S", 0.05)
    monkeypatch.setattr(exporters, "body_of", said)
    urls = ["fast-0", *(f"slow-{n}" for n in range(MOST_AT_ONCE - 1)), "long", "fast-1"]
    found = asyncio.run(exporters.answers(urls))
    assert found == {"fast-0": "fast-0", "fast-1": "fast-1"}


def test_sums_of_many_attempts_are_several_events() -> None:
    sums, many = GpuSums(), 501
    for at in (EVERY_MS, 2 * EVERY_MS):
        held = (HELD._replace(gang=f"g-{n}") for n in range(many))
        sums.look((at, at / 1000), looks(held, {"n0": figures(page("a-0", 1, sm=1))}))
    events: list[GpusSampled] = [*sums.rest(3 * EVERY_MS)]
    assert [len(each.attempts) for each in events] == [500, 1]
