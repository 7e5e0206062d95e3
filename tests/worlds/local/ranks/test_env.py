"""The environment of ranks, as tables."""

import pytest
from msgspec import structs

from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.workload import Checkpoint, Gang, PodSet, Run
from ganglion.worlds.environment import split
from ganglion.worlds.local.ranks.env import (
    Gpu,
    RankFacts,
    hostfile,
    inheritable,
    rank_env,
)
from ganglion.worlds.local.ranks.seats import seats

GPUS = {
    "node-0": tuple(Gpu(i) for i in range(8)),
    "node-1": tuple(Gpu(8 + i, f"GPU-{8 + i:02}") for i in range(8)),
}
FACTS = RankFacts(
    attempt=3,
    name="llama-sft",
    master_port=23456,
    service_port=24000,
    checkpoint_dir="/ck",
    run_dir="/run",
    gpus=GPUS,
)


def gang(*sets: PodSet) -> Gang:
    return Gang("llama-sft-7/2", "llama-sft-7", "default", pod_sets=sets, index=2)


def two_pods(
    procs: int, devices: tuple[int, ...] = (), milli: int = 1000
) -> tuple[Gang, Placement]:
    pods = (
        PodPlacement("main", 0, "node-0", devices, milli if devices else 0),
        PodPlacement("main", 1, "node-1", devices, milli if devices else 0),
    )
    return gang(PodSet(count=2, procs=procs)), Placement(pods)


def env(procs: int, rank: int, devices: tuple[int, ...] = (), **run: str) -> dict[str, str]:
    placed, placement = two_pods(procs, devices)
    table = seats(placed, placement)
    return rank_env(placed, table, Run(env=run), table[rank], FACTS)


RANKS = [
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "NODE_RANK",
    "GROUP_RANK",
]


@pytest.mark.parametrize(
    ("procs", "rank", "values"),
    [
        (1, 0, "0 2 0 1 0 0"),
        (1, 1, "1 2 0 1 1 1"),
        (4, 0, "0 8 0 4 0 0"),
        (4, 3, "3 8 3 4 0 0"),
        (4, 4, "4 8 0 4 1 1"),
        (4, 7, "7 8 3 4 1 1"),
    ],
)
def test_ranks_count_pod_by_pod(procs: int, rank: int, values: str) -> None:
    found = env(procs, rank)
    assert [found[name] for name in RANKS] == values.split()
    assert found["PET_NODE_RANK"] == found["GANGLION_NODE_RANK"] == found["NODE_RANK"]


def test_pod_sets_of_one_gang_share_one_numbering() -> None:
    sets = (PodSet("ps", 1, procs=1), PodSet("worker", 2, procs=3))
    pods = (
        PodPlacement("ps", 0, "node-0"),
        PodPlacement("worker", 0, "node-0"),
        PodPlacement("worker", 1, "node-1"),
    )
    table = seats(gang(*sets), Placement(pods))
    assert [(s.rank, s.node_rank, s.local_rank) for s in table] == [
        (0, 0, 0),
        (1, 1, 0),
        (2, 1, 1),
        (3, 1, 2),
        (4, 2, 0),
        (5, 2, 1),
        (6, 2, 2),
    ]
    found = rank_env(gang(*sets), table, Run(), table[6], FACTS)
    assert (found["WORLD_SIZE"], found["PET_NNODES"], found["GANGLION_POD_SET"]) == (
        "7",
        "3",
        "worker",
    )


@pytest.mark.parametrize(
    ("procs", "devices", "children"),
    [(1, (), "1"), (1, (0,), "1"), (1, (0, 1, 2, 3), "4"), (4, (0, 1, 2, 3), "4"), (2, (), "2")],
)
def test_a_launcher_starts_one_process_per_gpu(
    procs: int, devices: tuple[int, ...], children: str
) -> None:
    found = env(procs, 0, devices)
    assert found["PET_NPROC_PER_NODE"] == children


def test_torchrun_is_told_between_which_sizes_an_elastic_gang_goes_on() -> None:
    placed = gang(PodSet("head"), PodSet("worker", 6, min_count=2))
    pods = [
        PodPlacement("head", 0, "node-0"),
        *(PodPlacement("worker", i, "node-1") for i in range(3)),
    ]
    table = seats(placed, Placement(tuple(pods)))
    found = rank_env(placed, table, Run(), table[0], FACTS)
    assert (found["PET_NNODES"], found["WORLD_SIZE"]) == ("3:7", "4")


def test_the_rendezvous_is_the_same_for_all_ranks() -> None:
    names = "MASTER_ADDR MASTER_PORT PET_NNODES PET_MASTER_ADDR PET_MASTER_PORT PET_RDZV_BACKEND"
    names += " PET_RDZV_ENDPOINT PET_RDZV_ID"
    values = "127.0.0.1 23456 2 127.0.0.1 23456 c10d 127.0.0.1:23456 llama-sft-7-2-3"
    for rank in range(8):
        found = env(4, rank)
        assert [found[name] for name in names.split()] == values.split()


@pytest.mark.parametrize(
    ("procs", "rank", "devices", "visible"),
    [
        (1, 0, (), ""),
        (1, 0, (0, 1, 4, 5), "0,1,4,5"),
        (1, 1, (0, 1, 4, 5), "8,9,12,13"),
        (2, 0, (0, 1, 4, 5), "0,1"),
        (2, 3, (0, 1, 4, 5), "12,13"),
        (4, 2, (0, 1, 4, 5), "4"),
        (4, 3, (2,), "2"),
        (4, 1, (2, 3), "2"),
        (4, 2, (2, 3), "3"),
    ],
)
def test_each_process_sees_its_part_of_the_devices_of_its_pod(
    procs: int, rank: int, devices: tuple[int, ...], visible: str
) -> None:
    found = env(procs, rank, devices)
    assert found["CUDA_VISIBLE_DEVICES"] == visible
    assert found["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"


def test_every_device_of_a_pod_is_seen_by_exactly_one_of_fewer_processes() -> None:
    for count in range(1, 9):
        for procs in range(1, count + 1):
            parts = [split(tuple(range(count)), procs, local) for local in range(procs)]
            assert sum(parts, ()) == tuple(range(count))
            assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_processes_may_see_the_whole_pod_where_the_workload_asks_for_it() -> None:
    found = env(2, 3, (0, 1), GANGLION_GPU_BIND="pod")
    assert found["CUDA_VISIBLE_DEVICES"] == "8,9"


def test_real_devices_are_named_by_uuid_too_and_no_gpu_means_none_visible() -> None:
    assert env(1, 1, (0, 3))["NVIDIA_VISIBLE_DEVICES"] == "GPU-08,GPU-11"
    assert "NVIDIA_VISIBLE_DEVICES" not in env(1, 0, (0, 3))
    assert env(1, 0)["NVIDIA_VISIBLE_DEVICES"] == ""


def test_a_share_of_a_gpu_is_told() -> None:
    placed, placement = two_pods(1, (2,), 250)
    table = seats(placed, placement)
    found = rank_env(placed, table, Run(), table[0], FACTS)
    assert (found["CUDA_VISIBLE_DEVICES"], found["GANGLION_GPU_MILLI"]) == ("2", "250")
    assert "GANGLION_GPU_MILLI" not in env(1, 0, (2,))


def test_ganglions_own_variables() -> None:
    found = env(4, 5, (0, 1))
    own = {name: value for name, value in found.items() if name.startswith("GANGLION_")}
    assert own == {
        "GANGLION_JOB_ID": "llama-sft-7",
        "GANGLION_NAME": "llama-sft",
        "GANGLION_GANG": "llama-sft-7/2",
        "GANGLION_INDEX": "2",
        "GANGLION_ATTEMPT": "3",
        "GANGLION_NODE": "node-1",
        "GANGLION_NODE_RANK": "1",
        "GANGLION_NODES_NUM": "2",
        "GANGLION_NODE_IPS": "127.0.0.1\n127.0.0.1",
        "GANGLION_GPUS_PER_NODE": "2",
        "GANGLION_POD_SET": "main",
        "GANGLION_PORT": "24000",
        "GANGLION_STOP_SIGNAL": "SIGTERM",
        "GANGLION_CHECKPOINT_DIR": "/ck",
        "GANGLION_RUN_DIR": "/run",
        "GANGLION_STOP_FILE": "/run/stop",
        "GANGLION_CHECKPOINT_FILE": "/run/checkpoint",
        "GANGLION_REPORT_FILE": "/run/reports/1.jsonl",
        "GANGLION_HOSTFILE": "/run/hostfile",
    }


def test_slurm_variables_come_only_when_asked_for() -> None:
    assert not [name for name in env(4, 5) if name.startswith("SLURM_")]
    found = env(4, 5, (0, 1), GANGLION_SLURM_ENV="1")
    assert {name: value for name, value in found.items() if name.startswith("SLURM_")} == {
        "SLURM_JOB_ID": "7",
        "SLURM_JOBID": "7",
        "SLURM_JOB_NAME": "llama-sft",
        "SLURM_JOB_PARTITION": "default",
        "SLURM_JOB_NODELIST": "127.0.0.1,127.0.0.1",
        "SLURM_NODELIST": "127.0.0.1,127.0.0.1",
        "SLURM_NNODES": "2",
        "SLURM_JOB_NUM_NODES": "2",
        "SLURM_NTASKS": "8",
        "SLURM_NTASKS_PER_NODE": "4",
        "SLURM_CPUS_PER_TASK": "1",
        "SLURM_PROCID": "5",
        "SLURM_LOCALID": "1",
        "SLURM_NODEID": "1",
        "SLURM_GPUS_ON_NODE": "2",
        "SLURM_RESTART_COUNT": "2",
    }


def test_the_users_variables_are_kept_but_cannot_change_a_rank() -> None:
    found = env(1, 1, RANK="0", GANGLION_PARAM_LR="1e-4", PYTHONUNBUFFERED="", NCCL_DEBUG="INFO")
    assert found["RANK"] == "1"
    assert found["GANGLION_PARAM_LR"] == "1e-4"
    assert found["PYTHONUNBUFFERED"] == ""
    assert found["NCCL_DEBUG"] == "INFO"
    assert env(1, 1)["PYTHONUNBUFFERED"] == "1"


def test_what_describes_another_job_is_not_inherited() -> None:
    given = {
        "PATH": "/bin",
        "GANGLION_HOME": "/h",
        "GANGLION_TOKEN": "secret",
        "RANK": "1",
        "SLURM_JOB_ID": "4",
        "PET_NNODES": "2",
        "CUDA_VISIBLE_DEVICES": "0",
        "OMPI_COMM_WORLD_RANK": "0",
    }
    assert inheritable(given) == {"PATH": "/bin", "GANGLION_HOME": "/h"}


@pytest.mark.parametrize(("procs", "devices", "slots"), [(1, (), 1), (1, (0, 1), 2), (4, (0,), 4)])
def test_mpi_slots_are_processes_or_gpus(procs: int, devices: tuple[int, ...], slots: int) -> None:
    assert hostfile(seats(*two_pods(procs, devices))) == f"127.0.0.1 slots={slots}\n" * 2


@pytest.mark.parametrize(
    ("name", "handled"),
    [
        ("SIGTERM", None),
        ("SIGURG", None),
        ("SIGUSR1", "SIGTERM,SIGINT,SIGHUP,SIGQUIT,SIGUSR1"),
        ("usr2", "SIGTERM,SIGINT,SIGHUP,SIGQUIT,SIGUSR2"),
        ("10", "SIGTERM,SIGINT,SIGHUP,SIGQUIT,SIGUSR1"),
    ],
)
def test_torchrun_is_told_of_signals_that_it_would_die_of(name: str, handled: str | None) -> None:
    placed, placement = two_pods(1)
    placed = structs.replace(placed, checkpoint=Checkpoint(signal=name))
    table = seats(placed, placement)
    found = rank_env(placed, table, Run(), table[0], FACTS)
    assert found.get("TORCHELASTIC_SIGNALS_TO_HANDLE") == handled
    mine = Run(env={"TORCHELASTIC_SIGNALS_TO_HANDLE": "SIGINT"})
    found = rank_env(placed, table, mine, table[0], FACTS)
    assert found["TORCHELASTIC_SIGNALS_TO_HANDLE"] == "SIGINT"
