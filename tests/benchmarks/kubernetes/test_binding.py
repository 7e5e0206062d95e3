"""The schedulers that are compared get the same work, and the figures add up."""

import asyncio
from pathlib import Path

import pytest
from msgspec import structs
from tests.controlplane.fixtures import control_plane, control_plane_programs

from benchmarks.controlplane.control_plane import ControlPlane
from benchmarks.controlplane.flags import Options
from benchmarks.controlplane.programs import ASSETS, BINARY, Programs, find
from benchmarks.kubernetes import rounds
from benchmarks.kubernetes.binding import BENCH, turns
from benchmarks.kubernetes.field import Field
from benchmarks.kubernetes.mixed import mixed_labels, mixed_pod
from benchmarks.kubernetes.reclaim import reclaim
from benchmarks.kubernetes.rivals import RIVALS
from benchmarks.kubernetes.rounds import Figures, Measure, fill, flow, gangs, restart
from benchmarks.registry import BenchOptions, check_size, load, silent
from ganglion.model.errors import EnvironmentFault, FieldError, InputError
from ganglion.worlds.kubernetes.names import SCHEDULED

__all__ = ["control_plane", "control_plane_programs"]

KUBE = RIVALS["kube-scheduler"]


def _measured(plane: ControlPlane, nodes: int, measure: Measure) -> Figures:
    async def main() -> Figures:
        async with Field(plane) as field:
            await field.add_nodes(nodes)
            return await measure(field)

    try:
        return asyncio.run(main())
    finally:
        plane.wipe()


@pytest.fixture
def plane(control_plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> ControlPlane:
    """A control plane with kube-scheduler, and short measurements."""
    if not control_plane.programs.has("kube-scheduler"):
        pytest.skip(f"{control_plane.programs.path} has no kube-scheduler")
    for name, value in {"PACED": 8, "GANGS": 4, "GANG_SIZE": 3, "_QUIET_S": 2.0}.items():
        monkeypatch.setattr(rounds, name, value)
    return control_plane


@pytest.mark.parametrize("name", ["bare", "kube-scheduler", "kube-scheduler-lean"])
def test_all_pods_are_bound_and_the_time_is_taken(plane: ControlPlane, name: str) -> None:
    figures = _measured(plane, 4, lambda field: flow(field, RIVALS[name], 4, 20))
    assert figures.keys() == {
        *("backlog_s", "burst_s", "p50_ms", "p99_ms", "cpu_ms", "api_cpu_ms", "rss_mib", "events")
    }
    assert 0 < figures["p50_ms"] <= figures["p99_ms"]
    assert figures["backlog_s"] > 0
    assert figures["burst_s"] > 0
    assert (figures["rss_mib"] > 0) == (name != "bare")
    assert figures["events"] <= 20


@pytest.mark.parametrize("name", ["ganglion", "kube-scheduler"])
def test_pods_of_applications_with_rules_are_bound(plane: ControlPlane, name: str) -> None:
    async def main() -> Figures:
        async with Field(plane) as field:
            await field.add_nodes(12, mixed_labels(12))
            found = await flow(field, RIVALS[name], 12, 60, mixed_pod)
            pods = {f"{phase}-{n}" for phase in ("backlog", "burst") for n in range(60)}
            return found | {"written": await field.events(SCHEDULED, pods)}

    try:
        figures = asyncio.run(main())
    finally:
        plane.wipe()
    assert figures["backlog_s"] > 0
    assert 0 < figures["p50_ms"] <= figures["p99_ms"]
    assert figures["events"] <= 60
    assert figures["written"] > 0  # events come after bindings: at the end of the burst, maybe none


@pytest.mark.parametrize("seed", [1, None])
def test_gangs_are_counted_by_what_is_bound_of_them(plane: ControlPlane, seed: int | None) -> None:
    figures = _measured(plane, 1, lambda field: gangs(field, KUBE, seed))
    assert figures["whole"] + figures["partial"] + figures["waiting"] == 4
    assert figures["used_gpus"] + figures["stuck_gpus"] == 7  # one has the probe
    assert figures["used_gpus"] == 3 * figures["whole"]
    assert figures["partial"] >= 1  # 7 GPUs are no multiple of 3


def test_kubernetes_own_gangs_start_whole(
    plane: ControlPlane, control_plane_programs: Programs
) -> None:
    rival = RIVALS["kube-scheduler-gangs"]
    with ControlPlane(control_plane_programs, Options(rival.gates, all_apis=True)) as gated:
        figures = _measured(gated, 1, lambda field: gangs(field, rival, None))
    assert (figures["whole"], figures["partial"], figures["waiting"]) == (2, 0, 2)


def test_a_scheduler_is_ready_when_it_binds_on_a_full_cluster(plane: ControlPlane) -> None:
    async def measure(field: Field) -> Figures:
        await fill(field, KUBE, 3, 24)
        return await restart(field, KUBE)

    figures = _measured(plane, 3, measure)
    assert figures["ready_s"] > 0
    assert figures["rss_mib"] > 0


def test_each_round_begins_with_another() -> None:
    bare, kube, lean, *_ = RIVALS.values()
    assert list(turns([bare, kube, lean], 2)) == [
        *((0, bare), (0, kube), (0, lean)),
        *((1, kube), (1, lean), (1, bare)),
    ]


def test_an_unknown_workload_is_answered_with_those_there_are() -> None:
    with pytest.raises(InputError, match="no workload 'nope'") as caught:
        BENCH.run(BenchOptions(workload="nope"), silent)
    assert "gangs" in caught.value.hint


def test_sizes_are_refused_where_they_would_be_ignored() -> None:
    check_size(BENCH, BenchOptions(nodes=3, pods=5))
    with pytest.raises(FieldError, match="jct-muri has its own number of nodes"):
        check_size(load("jct-muri"), BenchOptions(nodes=3))


def test_without_a_control_plane_it_says_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(BINARY, raising=False)
    monkeypatch.delenv(ASSETS, raising=False)
    monkeypatch.setattr("benchmarks.controlplane.programs.CACHE", tmp_path)
    with pytest.raises(EnvironmentFault, match="no Kubernetes control plane") as caught:
        find()
    assert ASSETS in caught.value.hint


def test_a_folder_of_programs_is_taken_where_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(BINARY, raising=False)
    monkeypatch.setenv(ASSETS, str(tmp_path))
    with pytest.raises(EnvironmentFault, match="no etcd and kube-apiserver"):
        find()
    for name in ("etcd", "kube-apiserver"):
        (tmp_path / name).touch()
    programs = find()
    assert programs.command("etcd") == [str(tmp_path / "etcd")]
    assert not programs.has("kube-scheduler")
    with pytest.raises(EnvironmentFault, match="has no kube-scheduler"):
        programs.command("kube-scheduler")


def test_one_binary_is_told_which_program_to_be(tmp_path: Path) -> None:
    binary = tmp_path / "all"
    binary.touch()
    assert Programs(binary).command("etcd") == [str(binary), "etcd"]


def test_a_scheduler_that_ends_is_not_waited_for(plane: ControlPlane) -> None:
    wrong = structs.replace(KUBE, tuned={"parallelism": -1})
    with pytest.raises(EnvironmentFault, match="kube-scheduler ended") as caught:
        _measured(plane, 1, lambda field: flow(field, wrong, 1, 2))
    assert "parallelism" in caught.value.hint


@pytest.mark.parametrize("name", ["bare", "ganglion"])
def test_jobs_are_suspended_for_an_urgent_gang_and_the_time_is_taken(
    plane: ControlPlane, name: str
) -> None:
    figures = _measured(plane, 4, lambda field: reclaim(field, RIVALS[name], 4))
    assert figures["victims"] == 4
    assert 0 < figures["first_s"] <= figures["last_s"] <= figures["bound_s"]
    assert figures["gone_s"] <= figures["bound_s"]
