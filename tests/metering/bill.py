"""A bill by hand: attempts times GPUs, in exact integers, and nothing of the meter."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from ganglion.model import events as ev
from ganglion.model.fleet.node import Node
from ganglion.worlds.simulated.job import SimJob

HOUR = 3_600_000
DAY = 24 * HOUR
WHOLE = 1000


class Stay(Struct):
    """One attempt, from its placement to its end.

    Attributes:
        queue: of its job.
        gpus: thousandths of GPUs, by node.
        begin, end: in ms; it does not stop holding what it holds.
    """

    queue: str
    gpus: Mapping[str, int]
    begin: int
    end: int


class Bill:
    """Notes when attempts begin and end, and when nodes are there.

    Args:
        nodes: of the cluster.
        jobs: rigid ones, of whole GPUs.
    """

    def __init__(self, nodes: Iterable[Node], jobs: Iterable[SimJob]) -> None:
        self.flavors = {each.name: each.kind for each in nodes}
        self.sizes = {each.name: len(each.devices) * WHOLE for each in nodes}
        self.jobs = {each.gang.id: each.gang for each in jobs}
        self.stays: list[Stay] = []
        self._open: dict[str, Stay] = {}
        self._there: dict[str, list[list[int]]] = {}
        self._up: dict[str, int] = {}

    def note(self, event: ev.Event) -> None:
        """Something happened, or was decided."""
        match event:
            case ev.NodeAdded(at=at, node=node) if node.name not in self._up:
                self._up[node.name] = at
            case ev.NodeLost(at=at, name=name):
                self._there.setdefault(name, []).append([self._up.pop(name), at])
            case ev.GangPlaced(at=at, gang=gang, placement=placement):
                gpus: Counter[str] = Counter()
                for pod in placement.pods:
                    gpus[pod.node] += len(pod.devices) * WHOLE
                asked = sum(
                    each.count * each.request.gpu.count for each in self.jobs[gang].pod_sets
                )
                assert gpus.total() == asked * WHOLE, gang
                assert gang not in self._open, f"{gang} has two attempts at once"
                self._open[gang] = Stay(self.jobs[gang].queue, gpus, at, at)
            case ev.GangEnded(at=at, gang=gang) if gang in self._open:
                self._leave(gang, at)

    def close(self, at: int) -> None:
        """The month is over."""
        for gang in list(self._open):
            self._leave(gang, at)
        for name, since in self._up.items():
            self._there.setdefault(name, []).append([since, at])

    def _leave(self, gang: str, at: int) -> None:
        stay = self._open.pop(gang)
        stay.end = at
        self.stays.append(stay)

    def held(self) -> Counter[tuple[str, str, int]]:
        """GPU-microseconds by queue, flavor and day since 1970."""
        found: Counter[tuple[str, str, int]] = Counter()
        for stay in self.stays:
            for day, lasts in _parts(stay, DAY):
                for node, milli in stay.gpus.items():
                    found[stay.queue, self.flavors[node], day] += milli * lasts
        return found

    def capacity(self) -> Counter[str]:
        """GPU-microseconds by flavor: a node that is lost counts while an attempt holds some."""
        found: Counter[str] = Counter()
        for name, spans in self._there.items():
            held = [[each.begin, each.end] for each in self.stays if name in each.gpus]
            at = 0
            for begin, end in sorted([*spans, *held]):
                found[self.flavors[name]] += self.sizes[name] * max(end - max(begin, at), 0)
                at = max(at, end)
        return found

    def cost(self, price: Mapping[tuple[str, int], int]) -> Counter[str]:
        """Exact money by queue; `price`: of a flavor in an hour since 1970."""
        found: Counter[str] = Counter()
        for stay in self.stays:
            for hour, lasts in _parts(stay, HOUR):
                for node, milli in stay.gpus.items():
                    found[stay.queue] += milli * lasts * price[self.flavors[node], hour]
        return found


def _parts(stay: Stay, step: int) -> Iterator[tuple[int, int]]:
    """Number and length of each day, or hour, that a stay touches."""
    for number in range(stay.begin // step, -(-stay.end // step)):
        begin, end = number * step, (number + 1) * step
        yield number, max(min(stay.end, end) - max(stay.begin, begin), 0)
