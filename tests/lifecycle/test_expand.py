import pytest
from hypothesis import given
from hypothesis import strategies as st

from ganglion.lifecycle.expand import gang_count, gangs_of, params_of, run_of
from ganglion.model.errors import NotFound
from ganglion.model.fleet.levels import Level
from ganglion.model.resources import GpuRequest, PodRequest
from ganglion.model.workload import (
    Checkpoint,
    Constraints,
    Gang,
    Kind,
    PodSet,
    Run,
    Topology,
    Workload,
)

PODS = (PodSet(count=2, request=PodRequest(gpu=GpuRequest(8))),)


def sweep(**run: object) -> Workload:
    return Workload(
        name="hpo",
        kind=Kind.SWEEP,
        params={"lr": ("1e-4", "3e-4"), "seed": ("0", "1", "2")},
        parallel=2,
        run=Run(**run),  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("kind", [Kind.TRAIN, Kind.BATCH, Kind.WORKSPACE])
def test_most_workloads_are_one_gang_with_everything_they_said(kind: Kind) -> None:
    workload = Workload(
        name="a",
        kind=kind,
        queue="q",
        user="ada",
        priority=7,
        preemptible=False,
        pod_sets=PODS,
        topology=Topology(required=Level.RACK),
        constraints=Constraints(isolation="queue"),
        time_limit_ms=5,
        checkpoint=Checkpoint(),
        after=("b-1",),
        held=True,
        replicas=3,
    )
    assert gangs_of("a-7", workload, 42) == (
        Gang(
            id="a-7/0",
            workload="a-7",
            queue="q",
            user="ada",
            kind=kind,
            priority=7,
            preemptible=False,
            pod_sets=PODS,
            topology=Topology(required=Level.RACK),
            constraints=Constraints(isolation="queue"),
            submitted=42,
            time_limit_ms=5,
            checkpoint=Checkpoint(),
            after=("b-1",),
            held=True,
            name="a",
        ),
    )


def test_a_service_is_one_gang_per_replica() -> None:
    gangs = gangs_of("s-1", Workload(name="s", kind=Kind.SERVICE, replicas=3), 0)
    assert [(gang.id, gang.index) for gang in gangs] == [("s-1/0", 0), ("s-1/1", 1), ("s-1/2", 2)]


def test_a_sweep_is_one_gang_per_combination_the_last_parameter_fastest() -> None:
    workload = sweep()
    gangs = gangs_of("hpo-3", workload, 0)
    assert [gang.id for gang in gangs] == [f"hpo-3/{index}" for index in range(6)]
    assert {gang.parallel for gang in gangs} == {2}
    assert [tuple(params_of(workload, gang.index).values()) for gang in gangs] == [
        ("1e-4", "0"),
        ("1e-4", "1"),
        ("1e-4", "2"),
        ("3e-4", "0"),
        ("3e-4", "1"),
        ("3e-4", "2"),
    ]


def test_parameters_reach_command_setup_and_environment() -> None:
    workload = sweep(
        command=("train --lr {lr} --seed={seed} {other} ${seed}",),
        shell=True,
        setup="echo {lr}",
        env={"TASK": "{seed}", "JSON": '{"a": 1}'},
    )
    run = run_of(workload, 5)
    assert run.command == ("train --lr 3e-4 --seed=2 {other} ${seed}",)
    assert run.setup == "echo 3e-4"
    assert run.env == {
        "TASK": "2",
        "JSON": '{"a": 1}',
        "GANGLION_PARAM_LR": "3e-4",
        "GANGLION_PARAM_SEED": "2",
    }


def test_a_value_that_looks_like_a_parameter_is_not_replaced_again() -> None:
    workload = Workload(
        name="x",
        kind=Kind.SWEEP,
        params={"a": ("{b}",), "b": ("1",)},
        run=Run(command=("{a}",)),
    )
    assert run_of(workload, 0).command == ("{b}",)


def test_other_workloads_run_as_they_were_written() -> None:
    run = Run(command=("echo", "{lr}"))
    assert run_of(Workload(name="a", params={"lr": ("1",)}, run=run), 0) == run


@pytest.mark.parametrize("index", [-1, 6])
def test_there_is_no_gang_beyond_the_last(index: int) -> None:
    with pytest.raises(NotFound, match=f"no gang {index}") as caught:
        run_of(sweep(), index)
    assert "0 to 5" in caught.value.hint


names = st.from_regex(r"[a-z]{1,3}", fullmatch=True)
values = st.lists(st.text(max_size=3), min_size=1, max_size=4, unique=True).map(tuple)


@given(st.dictionaries(names, values, min_size=1, max_size=4))
def test_every_combination_occurs_exactly_once(params: dict[str, tuple[str, ...]]) -> None:
    workload = Workload(name="x", kind=Kind.SWEEP, params=params)
    count = gang_count(workload)
    found = {tuple(params_of(workload, index).items()) for index in range(count)}
    assert len(found) == count == len(gangs_of("x-1", workload, 0))
    assert all(value in params[name] for point in found for name, value in point)
