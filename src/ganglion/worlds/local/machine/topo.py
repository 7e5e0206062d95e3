"""The matrix that `nvidia-smi topo -m` prints, as a graph of links between devices.

The matrix loses information and its shapes differ between machines: pairs with direct links
need not be neighbours, NIC numbers are not GPU numbers, boards without NVLink print the same
word for every pair although the devices hang on two NUMA nodes, and columns come and go.
Everything is therefore read by the names in the header, never by position alone.
"""

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct, field

PATHS = ("PIX", "PXB", "PHB", "NODE", "SYS")
"""Ways over PCIe, the shortest first: one bridge, several, the host bridge, between host
bridges of one NUMA node, between NUMA nodes."""
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_LINK = re.compile(r"X|NV\d+|" + "|".join(PATHS))
_GPU = re.compile(r"GPU\d+")
_EXTRA = re.compile(r"CPU Affinity|GPU NUMA ID|NUMA Affinity|NUMA")
_CPUS = re.compile(r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*")


class Matrix(Struct, frozen=True):
    """A parsed matrix.

    Attributes:
        gpus: numbers of the GPUs, in the order of the rows.
        links: (GPU, GPU) with the smaller number first -> `NV#` or one of `PATHS`.
        nics: GPU -> NIC name -> one of `PATHS`.
        numa: GPU -> NUMA node; a GPU whose node is not known is left out.
        cpus: GPU -> the CPUs near it, as `0-47,96-143`.
        whole: whether every GPU has its row; where one is cut off, links and nodes are missing.
    """

    gpus: tuple[int, ...] = ()
    links: dict[tuple[int, int], str] = field(default_factory=dict)
    nics: dict[int, dict[str, str]] = field(default_factory=dict)
    numa: dict[int, int] = field(default_factory=dict)
    cpus: dict[int, str] = field(default_factory=dict)
    whole: bool = True

    def nvlinks(self, one: int, other: int) -> int:
        """How many NVLinks join two GPUs; 0 = none."""
        link = self.links.get((min(one, other), max(one, other)), "")
        return int(link[2:]) if link.startswith("NV") else 0

    def weight(self, one: int, other: int) -> int:
        """How close two GPUs are: 100 per NVLink, else 50 (`PIX`) down to 10 (`SYS`); 0 unknown."""
        link = self.links.get((min(one, other), max(one, other)), "")
        if link in PATHS:
            return 10 * (len(PATHS) - PATHS.index(link))
        return 100 * self.nvlinks(one, other)

    def nearest_nics(self, gpu: int) -> tuple[str, ...]:
        """The NICs with the shortest way to a GPU, those of another NUMA node never."""
        ways = self.nics.get(gpu, {})
        best = min((PATHS.index(way) for way in ways.values()), default=len(PATHS))
        if best >= PATHS.index("SYS"):
            return ()
        return tuple(nic for nic, way in ways.items() if way == PATHS[best])

    def islands(self, among: Iterable[int] | None = None) -> dict[int, int]:
        """GPU -> number of its NVLink island, from 0 in the order of the GPUs.

        An island is a connected component of the NVLink graph; a GPU without NVLink is alone.

        Args:
            among: GPUs to look at; None = all.
        """
        left = list(self.gpus if among is None else among)
        found: dict[int, int] = {}
        island = 0
        for gpu in left:
            if gpu not in found:
                found |= dict.fromkeys(self._reach(gpu, left), island)
                island += 1
        return found

    def _reach(self, start: int, among: list[int]) -> set[int]:
        reached, edge = {start}, [start]
        while edge:
            gpu = edge.pop()
            near = {other for other in among if other not in reached and self.nvlinks(gpu, other)}
            reached |= near
            edge += near
        return reached


def parse(text: str) -> Matrix:
    """Read the output of `nvidia-smi topo -m`; an empty matrix when there is none in it."""
    lines = [_ANSI.sub("", line).split() for line in text.splitlines()]
    start = next((i for i, words in enumerate(lines) if words and _GPU.fullmatch(words[0])), None)
    if start is None:
        return Matrix()
    header = _ANSI.sub("", text.splitlines()[start])
    rows = [words for words in lines[start + 1 :] if words and _GPU.fullmatch(words[0])]
    return _read(header, rows)


def _read(header: str, rows: list[list[str]]) -> Matrix:
    extras = [found[0] for found in _EXTRA.finditer(header)]
    names = _EXTRA.split(header, maxsplit=1)[0].split()
    gpus = [name for name in names if _GPU.fullmatch(name)]
    whole = gpus == [row[0] for row in rows if len(row) > len(names)]
    matrix = Matrix(tuple(int(name[3:]) for name in gpus), whole=whole)
    for row in rows:
        gpu, cells = int(row[0][3:]), row[1:]
        _read_links(matrix, gpu, dict(zip(names, cells, strict=False)))
        _read_extras(matrix, gpu, extras, cells[len(names) :])
    return matrix


def _read_links(matrix: Matrix, gpu: int, links: Mapping[str, str]) -> None:
    for name, link in links.items():
        if link == "X" or not _LINK.fullmatch(link):
            continue
        if _GPU.fullmatch(name):
            other = int(name[3:])
            matrix.links[min(gpu, other), max(gpu, other)] = link
        else:
            matrix.nics.setdefault(gpu, {})[name] = link


def _read_extras(matrix: Matrix, gpu: int, columns: list[str], cells: list[str]) -> None:
    """Read CPUs and NUMA node; where a cell is blank the columns do not line up any more."""
    if len(cells) == len(columns):
        named = dict(zip(columns, cells, strict=True))
        cpus, numa = named.get("CPU Affinity", ""), named.get("NUMA Affinity") or named.get("NUMA")
    else:
        cpus = next((cell for cell in cells if _CPUS.fullmatch(cell) and not cell.isdigit()), "")
        numa = next((cell for cell in cells if cell.isdigit()), "")
    if _CPUS.fullmatch(cpus):
        matrix.cpus[gpu] = cpus
    if first := re.match(r"\d+", numa or ""):
        matrix.numa[gpu] = int(first[0])
