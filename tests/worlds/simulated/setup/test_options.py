"""From options to a scenario."""

from pathlib import Path

import pytest

from ganglion.model.errors import FieldError, FileError, GanglionError, NotFound
from ganglion.model.policy import Order
from ganglion.specs.policy.presets import preset
from ganglion.worlds.simulated.attempt import Timing
from ganglion.worlds.simulated.setup.options import RunOptions, scenario_of

TRACE = "submit_s,duration_s,num_gpus,vc\n0,100,1,a\n50,100,16,b\n"
NODES = "sn,cpu_milli,memory_mib,gpu,model\nx,64000,1000,4,T4\ny,64000,1000,4,T4\n"
PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\np,1,1,1,500,T4\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, text in (("jobs.csv", TRACE), ("nodes.csv", NODES), ("pods.csv", PODS)):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_without_options_there_is_a_small_cluster_with_teams() -> None:
    scenario = scenario_of(RunOptions())
    assert len(scenario.jobs) == 1_000
    assert sum(len(node.devices) for node in scenario.nodes) == 64
    assert {job.gang.queue for job in scenario.jobs} == {queue.name for queue in scenario.queues}


def test_a_trace_gets_a_cluster_of_its_size_and_its_queues(files: Path) -> None:
    scenario = scenario_of(RunOptions(trace=files / "jobs.csv"))
    assert len(scenario.nodes) == 2
    assert [queue.name for queue in scenario.queues] == ["a", "b"]
    assert "sized for a mean load" in scenario.notes[0]


def test_one_queue_and_the_first_jobs_can_be_chosen(files: Path) -> None:
    trace = files / "jobs.csv"
    assert len(scenario_of(RunOptions(trace=trace, limit=1)).jobs) == 1
    (job,) = scenario_of(RunOptions(trace=trace, queue="b")).jobs
    assert job.gang.queue == "b"
    with pytest.raises(NotFound) as caught:
        scenario_of(RunOptions(trace=trace, queue="c"))
    assert "a, b" in caught.value.hint


def test_gangs_are_cut_to_the_nodes_of_the_cluster_given(files: Path) -> None:
    options = RunOptions(trace=files / "jobs.csv", cluster=files / "nodes.csv")
    scenario = scenario_of(options)
    assert [node.name for node in scenario.nodes] == ["x", "y"]
    assert scenario.jobs[1].gang.pod_sets[0].count == 4


def test_a_cluster_file_gives_nodes_queues_and_policy(files: Path) -> None:
    path = files / "cluster.yaml"
    path.write_text(
        "pools:\n  - {name: big, nodes: 2, cpus: 64, memory: 256Gi, gpus: 4}\n"
        "queues:\n  - name: org\n  - {name: team, parent: org}\npolicy: {order: fifo}\n"
    )
    scenario = scenario_of(RunOptions(synthetic=20, cluster=path))
    assert {job.gang.queue for job in scenario.jobs} == {"team"}
    assert scenario.policy.order is Order.FIFO
    assert len(scenario.nodes) == 2


def test_a_policy_file_brings_its_queues_along(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("preset: kai\nqueues: [{name: a, quota: {'*': 8}}, {name: b}]")
    drawn = scenario_of(RunOptions(synthetic=20, policy=str(path)))
    assert {job.gang.queue for job in drawn.jobs} == {"a", "b"}
    assert drawn.policy == preset("kai")
    assert [queue.name for queue in drawn.queues] == ["a", "b"]


def test_orders_by_run_time_are_told_the_run_times(files: Path) -> None:
    trace = files / "jobs.csv"
    known = scenario_of(RunOptions(trace=trace, policy="shortest")).jobs
    assert [job.gang.expected_ms for job in known] == [100_000, 100_000]
    assert scenario_of(RunOptions(trace=trace)).jobs[0].gang.expected_ms == 0


def test_times_and_checkpoints_reach_the_scenario(files: Path) -> None:
    scenario = scenario_of(
        RunOptions(
            trace=files / "jobs.csv",
            start_delay="5s",
            restart_cost="2m",
            resize_cost="30s",
            stop_time="10s",
            save_on_stop=True,
            checkpoint="30m",
            horizon="1d",
        )
    )
    assert scenario.timing == Timing(5_000, 120_000, 30_000, 10_000, save_on_stop=True)
    assert scenario.horizon_ms == 86_400_000
    checkpoint = scenario.jobs[0].gang.checkpoint
    assert checkpoint is not None
    assert checkpoint.interval_ms == 1_800_000


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"trace": "jobs.csv", "synthetic": 5}, FieldError, "not both"),
        ({"cluster": "nodes.csv", "nodes": 5}, FieldError, "not both"),
        ({"trace": "pods.csv"}, FieldError, "needs the nodes that belong to it"),
        ({"trace": "pods.csv", "nodes": 2}, FieldError, "asks for GPU types (T4)"),
        ({"cluster": "jobs.csv"}, FieldError, "is no list of nodes"),
        ({"trace": "nodes.csv"}, FileError, "a list of nodes"),
        ({"queue": "a"}, FieldError, "only traces have queues"),
        ({"horizon": "soon"}, FieldError, "--horizon"),
        ({"trace": "gone.csv"}, FileError, "cannot read"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    files: Path, options: dict[str, object], error: type[GanglionError], said: str
) -> None:
    paths = {
        name: files / str(value) if name in ("trace", "cluster") else value
        for name, value in options.items()
    }
    with pytest.raises(error) as caught:
        scenario_of(RunOptions(**paths))  # type: ignore[arg-type]
    assert said in caught.value.message
    assert caught.value.exit_code == 2
