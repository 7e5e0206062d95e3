"""What each witness makes of its readings."""

from ganglion.lifecycle.workspaces.dcgm import readings
from ganglion.lifecycle.workspaces.gpus import GpuReading, gpu_sight
from ganglion.lifecycle.workspaces.kernels import Kernel, Notebooks, kernel_sight
from ganglion.lifecycle.workspaces.look import Loss
from ganglion.lifecycle.workspaces.processes import (
    Attached,
    ProcessUse,
    people_sight,
    process_sight,
)
from ganglion.model.behaviour import Idle

NOW = 10_000_000
QUIET = GpuReading(NOW, 30_000, 0, 900, 70_000)


def gpu(**changes: object) -> GpuReading:
    return GpuReading(
        **{"at": NOW, "span_ms": 30_000, "engine_milli": 0, "bytes_per_s": 0} | changes
    )  # type: ignore[arg-type]


def test_memory_in_use_does_not_make_a_gpu_busy() -> None:
    sight = gpu_sight([QUIET, QUIET], Idle(), NOW)
    assert (sight.doubt, sight.moved, sight.since) == ("", 0, NOW - 30_000)


def test_engines_or_bytes_do() -> None:
    engines = gpu_sight([QUIET, gpu(engine_milli=340, name="GPU 1")], Idle(), NOW)
    moving = gpu_sight([gpu(bytes_per_s=5_000_000)], Idle(), NOW)
    assert (engines.moved, engines.said) == (NOW, "GPU 1 was 34 % busy")
    assert (moving.moved, moving.said) == (NOW, "GPU moved 5000 kB/s")


def test_a_series_that_is_missing_is_not_idle() -> None:
    for unknown in (None, gpu(engine_milli=None), gpu(bytes_per_s=None)):
        assert gpu_sight([QUIET, unknown], Idle(), NOW).doubt
    assert gpu_sight([], Idle(), NOW).doubt


def test_a_shared_gpu_tells_only_while_all_of_it_is_quiet() -> None:
    assert gpu_sight([gpu(engine_milli=900)], Idle(), NOW, shared=True).doubt
    assert not gpu_sight([QUIET], Idle(), NOW, shared=True).doubt


def test_the_least_recent_device_decides_how_old_a_look_is() -> None:
    assert gpu_sight([QUIET, gpu(at=NOW - 90_000)], Idle(), NOW).at == NOW - 90_000


DCGM = """\
# HELP DCGM_FI_PROF_GR_ENGINE_ACTIVE Ratio of time the graphics engine is active.
# TYPE DCGM_FI_PROF_GR_ENGINE_ACTIVE gauge
DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu="0",UUID="GPU-a",modelName="H100, \\"80\\" GB"} 0.253
DCGM_FI_PROF_PCIE_TX_BYTES{gpu="0",UUID="GPU-a",device="nvidia0"} 1000
DCGM_FI_PROF_PCIE_RX_BYTES{gpu="0",UUID="GPU-a",device="nvidia0"} 2000.4 1700000000000
DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-a",device="nvidia0"} 70123
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-a",device="nvidia0"} 100
DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu="1",UUID="GPU-b"} 9223372036854775794
DCGM_FI_PROF_PCIE_TX_BYTES{gpu="1",UUID="GPU-b"} 2147483632
DCGM_FI_PROF_PCIE_RX_BYTES{gpu="1",UUID="GPU-b"} 0
DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu="2",UUID="GPU-c",GPU_I_ID="5",GPU_I_PROFILE="1g.10gb"} 0
DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu="3",UUID="GPU-d"} NaN
DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu="4",UUID="GPU-e"} -1
broken line
"""


def test_an_exporter_is_read_and_its_codes_for_not_available_are_no_values() -> None:
    found = readings(DCGM, NOW, 30_000)
    assert found["GPU-a", ""] == GpuReading(NOW, 30_000, 253, 3000, 70_123, "GPU 0")
    assert found["GPU-b", ""].engine_milli is None
    assert found["GPU-b", ""].bytes_per_s is None
    assert found["GPU-c", "5"].engine_milli == 0
    assert ("GPU-d", "") not in found
    assert ("GPU-e", "") not in found


def server(*kernels: Kernel, **others: object) -> Notebooks:
    return Notebooks(NOW, 1_000, tuple(kernels), **others)  # type: ignore[arg-type]


def test_a_kernel_that_is_busy_counts_as_used_now() -> None:
    sight = kernel_sight(server(Kernel("idle", 5), Kernel("busy", 7)), NOW)
    assert (sight.moved, sight.said) == (NOW, "a cell runs")


def test_a_server_tells_of_the_past_and_an_open_tab_does_not_count() -> None:
    sight = kernel_sight(server(Kernel("idle", 2_000_000, connections=3)), NOW)
    assert (sight.since, sight.moved, sight.said) == (1_000, 2_000_000, "a cell ran")


def test_terminals_and_saved_notebooks_count() -> None:
    kernel = Kernel("idle", 2_000_000)
    assert kernel_sight(server(kernel, terminals=(3_000_000,)), NOW).moved == 3_000_000
    assert kernel_sight(server(kernel, saved=(4_000_000,)), NOW).moved == 4_000_000


def test_clocks_that_are_ahead_do_not_make_the_future() -> None:
    assert kernel_sight(server(Kernel("idle", NOW + 500_000)), NOW).moved == NOW


def test_a_server_that_is_silent_or_odd_is_in_doubt() -> None:
    assert kernel_sight(None, NOW).doubt
    assert kernel_sight(server(Kernel("unknown", 5)), NOW).doubt
    assert kernel_sight(server(Kernel("", 5)), NOW).doubt
    assert kernel_sight(server(Kernel("idle", 0)), NOW).doubt


def test_a_computation_on_the_cpu_or_a_download_is_seen_and_servers_that_wait_are_not() -> None:
    assert process_sight(ProcessUse(NOW, 15_000, 980), NOW).moved == NOW
    assert process_sight(ProcessUse(NOW, 15_000, 4, 3_000_000), NOW).moved == NOW
    waiting = process_sight(ProcessUse(NOW, 15_000, 12, 2_000), NOW)
    assert (waiting.moved, waiting.since) == (0, NOW - 15_000)
    assert process_sight(None, NOW).doubt


def test_behind_a_connection_somebody_may_be_reading() -> None:
    assert people_sight(Attached(NOW, 0, 1, True), NOW, 15_000).doubt
    assert not people_sight(Attached(NOW, 0, 0, True), NOW, 15_000).doubt
    assert not people_sight(Attached(NOW, 0, 1, False), NOW, 15_000).doubt
    assert people_sight(Attached(NOW, 9_000_000), NOW, 15_000).moved == 9_000_000
    assert people_sight(None, NOW, 15_000).doubt


def test_what_is_lost_and_what_is_kept_is_said() -> None:
    assert Loss(2, 1, 512, 10_445).text == (
        "lost: the variables of 2 kernels, 1 shell, 512 MiB of memory and 10.2 GiB of GPU memory;"
        " kept: name, environment, address, files and place in line"
    )
    assert Loss().text.startswith("lost: all shells, what is in memory and GPU memory; kept:")
