"""Every shape of `nvidia-smi topo -m`: what is joined, where it hangs, which NIC is near."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ganglion.worlds.local.machine.topo import Matrix, parse

MATRICES = Path(__file__).parent / "matrices"
EIGHT = tuple(range(8))
HALVES = [0, 0, 0, 0, 1, 1, 1, 1]


def read(name: str) -> Matrix:
    found = parse((MATRICES / f"{name}.txt").read_text())
    assert found.whole
    return found


def listed(found: dict[int, int]) -> list[int]:
    return [found[gpu] for gpu in sorted(found)]


@pytest.mark.parametrize(
    ("name", "islands", "numa", "nics"),
    [
        ("dgx-a100", [0] * 8, [3, 3, 1, 1, 7, 7, 5, 5], 10),
        ("hgx-h100", [0] * 8, HALVES, 10),
        ("hgx-h100-6nic", [0] * 8, HALVES, 6),
        ("h800-nv8", [0] * 8, HALVES, 9),
        ("rtx4090-8", list(range(8)), HALVES, 0),
        ("mixed-5", list(range(5)), [0, 1, 1, 1, 1], 0),
        ("bridges", [0, 1, 0, 1, 2, 2, 3, 3], HALVES, 2),
        ("dgx-1-v100", [0] * 8, [], 4),
        ("nics-40", [0, 0], [0, 1], 40),
        ("single", [0], [], 0),
        ("gh200-4", [0] * 4, [0, 1, 2, 3], 4),
    ],
)
def test_islands_and_numa_nodes(name: str, islands: list[int], numa: list[int], nics: int) -> None:
    matrix = read(name)
    assert matrix.gpus == tuple(range(len(islands)))
    assert listed(matrix.islands()) == islands
    assert listed(matrix.numa) == numa
    assert len(matrix.links) == len(islands) * (len(islands) - 1) // 2
    assert all(len(matrix.nics.get(gpu, {})) == nics for gpu in matrix.gpus)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("dgx-a100", ["0 1", "0 1", "2 3", "2 3", "4 5", "4 5", "6 7", "6 7"]),
        ("hgx-h100", ["0", "1", "2", "5", "6", "7", "8", "9"]),
        ("hgx-h100-6nic", ["0 1 2 3", "0", "0 1 2 3", "3", "4 5", "4", "4 5", "5"]),
        ("h800-nv8", ["2", "0", "4", "6", "1", "3", "5", "7"]),
        ("rtx4090-8", [""] * 8),
        ("bridges", ["0"] * 4 + ["1"] * 4),
        ("nics-40", ["7 8", "31"]),
    ],
)
def test_the_nearest_nics_of_every_gpu(name: str, nearest: list[str]) -> None:
    matrix = read(name)
    wanted = [tuple(f"NIC{number}" for number in each.split()) for each in nearest]
    assert [matrix.nearest_nics(gpu) for gpu in matrix.gpus] == wanted


def test_nics_of_old_drivers_carry_their_own_names() -> None:
    matrix = read("dgx-1-v100")
    assert matrix.nearest_nics(5) == ("mlx5_2",)
    assert matrix.cpus[5] == "20-39,60-79"


def test_links_are_weighted_by_kind_and_number() -> None:
    mesh, mixed, bridges = read("dgx-1-v100"), read("mixed-5"), read("bridges")
    assert [mesh.weight(0, other) for other in (1, 3, 5, 7)] == [100, 200, 10, 10]
    assert [mixed.weight(1, other) for other in (2, 3, 0)] == [30, 20, 10]
    assert bridges.weight(2, 0) == bridges.weight(0, 2) == 1200
    assert (bridges.nvlinks(0, 1), bridges.weight(0, 9)) == (0, 0)


def test_islands_among_some_gpus_do_not_lead_through_others() -> None:
    chain = Matrix((0, 1, 2), {(0, 1): "NV1", (1, 2): "NV1", (0, 2): "SYS"})
    assert chain.islands() == {0: 0, 1: 0, 2: 0}
    assert chain.islands([0, 2]) == {0: 0, 2: 1}


def test_colours_legend_and_warnings_around_the_matrix_do_not_matter() -> None:
    text = (MATRICES / "hgx-h100-6nic.txt").read_text()
    assert "\x1b[4m" in text
    plain = text.replace("\x1b[4m", "").replace("\x1b[0m", "")
    noisy = "WARNING: infoROM is corrupted at gpu 0000:3B:00.0\n\n" + plain.replace("\n", "\r\n")
    assert parse(text) == parse(plain) == parse(noisy)


def test_blank_cells_do_not_shift_the_columns() -> None:
    head = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    rows = "GPU0\t X \tNV4\t\t1\t\tN/A\nGPU1\tNV4\t X \t0-7\t\t\tN/A\n"
    matrix = parse(head + rows)
    assert (matrix.numa, matrix.cpus) == ({0: 1}, {1: "0-7"})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "No devices were found\n",
        "NVIDIA-SMI has failed because it could not talk to it",
        "\n" * 9,
    ],
)
def test_no_matrix_is_an_empty_matrix(text: str) -> None:
    assert parse(text) == Matrix()
    assert parse(text).islands() == {}


@given(st.text(alphabet="GPU01 NICX\tSYSV4\n/A-,Affinity\x1b[m", max_size=400))
def test_any_text_is_read_without_an_error(text: str) -> None:
    parse(text).islands()


@given(st.integers(1, 8), st.integers(0, 40), st.randoms(use_true_random=False))
def test_any_graph_is_read_back_as_it_was_printed(count: int, nics: int, chance: Random) -> None:
    pick = chance.choice
    pairs = [(a, b) for a in range(count) for b in range(a + 1, count)]
    links = {pair: pick(("NV1", "NV18", "PIX", "PXB", "PHB", "NODE", "SYS")) for pair in pairs}
    ways = {
        gpu: {f"NIC{n}": pick(("PIX", "NODE", "SYS")) for n in range(nics)} for gpu in range(count)
    }
    head = [*(f"GPU{i}" for i in range(count)), *(f"NIC{n}" for n in range(nics))]
    lines = ["\t".join(["", *head, "CPU Affinity", "NUMA Affinity"])]
    for gpu in range(count):
        cells = ["X" if o == gpu else links[min(o, gpu), max(o, gpu)] for o in range(count)]
        lines.append("\t".join([f"GPU{gpu}", *cells, *ways[gpu].values(), "0-7", str(gpu % 2)]))
    matrix = parse("\n".join(lines))
    assert matrix.links == links
    assert matrix.nics == ({} if not nics else ways)
    assert matrix.numa == {gpu: gpu % 2 for gpu in range(count)}
