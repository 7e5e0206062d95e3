"""The openb lists of nodes and pods."""

from pathlib import Path

import pytest

from ganglion.model.errors import FieldError
from ganglion.worlds.simulated.readers.openb import read_nodes, read_pods

NODES = """sn,cpu_milli,memory_mib,gpu,model
node-b,64000,262144,2,P100
node-a,32000,131072,0,
"""
PODS = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,\
creation_time,deletion_time,scheduled_time
p-1,6000,1024,1,460,,LS,Running,50,110,60
p-0,8000,2048,2,1000,P100|T4,LS,Running,10,30,
p-2,4000,512,0,0,,BE,Failed,70,70,70
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "list.csv"
    path.write_text(text)
    return path


def test_nodes_carry_their_devices(tmp_path: Path) -> None:
    first, second = read_nodes(written(tmp_path, NODES))
    assert (first.name, first.cpu_milli, first.memory_mib) == ("node-b", 64_000, 262_144)
    assert [device.type for device in first.devices] == ["P100", "P100"]
    assert second.devices == ()


def test_a_pod_runs_from_its_scheduling_to_its_deletion(tmp_path: Path) -> None:
    jobs = read_pods(written(tmp_path, PODS))
    assert [(j.gang.submitted, j.duration_ms) for j in jobs] == [
        (10_000, 20_000),
        (50_000, 50_000),
        (70_000, 0),
    ]


def test_shares_and_allowed_models_are_kept(tmp_path: Path) -> None:
    two, shared, cpu = (j.gang.pod_sets[0].request for j in read_pods(written(tmp_path, PODS)))
    assert (two.gpu.count, two.gpu.milli, two.gpu.types) == (2, 1000, ("P100", "T4"))
    assert (shared.gpu.count, shared.gpu.milli, shared.gpu.types) == (1, 460, ())
    assert (cpu.gpu.count, cpu.cpu_milli, cpu.memory_mib) == (0, 4000, 512)


def test_a_list_without_times_arrives_one_by_one_and_stays(tmp_path: Path) -> None:
    text = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,1,1,1000\nb,1,1,1,1000\n"
    jobs = read_pods(written(tmp_path, text))
    assert [(j.gang.submitted, j.duration_ms) for j in jobs] == [(0, None), (1_000, None)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (NODES + "node-a,1,1,0,\n", "node node-a is there twice"),
        (NODES + "node-c,1,1,2,\n", "list.csv:4:model: GPUs without a model"),
        (NODES + "node-c,1,1,-2,T4\n", "list.csv:4:gpu: -2 is less than 0"),
    ],
)
def test_a_bad_node_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(FieldError) as caught:
        read_nodes(written(tmp_path, text))
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("x,1,1,2,500,,LS,Running,1,2,1", "a share of more than one GPU"),
        ("x,1,1,1,0,,LS,Running,1,2,1", "0 of a GPU"),
        ("x,1,1,1,1000,,LS,Running,soon,2,1", "creation_time: 'soon' is not a number"),
    ],
)
def test_a_bad_pod_is_named(tmp_path: Path, row: str, said: str) -> None:
    with pytest.raises(FieldError) as caught:
        read_pods(written(tmp_path, PODS + row + "\n"))
    assert said in caught.value.message
    assert "list.csv:5" in caught.value.message
