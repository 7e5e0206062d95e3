"""Deep queues: a cluster in use, and waiting gangs of which most would fit.

The first gangs of a deep queue cannot start, each for a reason of its own; whatever stands
behind them fits, all of it at once, and so does everything in the other queues.
"""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from benchmarks.kubernetes.field import GPUS_PER_NODE, pod
from ganglion.model.errors import InputError
from ganglion.worlds.kubernetes import names

FITS = "fits"
TOO_LARGE = "too large"
"""Needs every node of a rack, and of each rack some are in use."""
OTHER_FLAVOR = "other flavor"
"""Needs nodes of a flavor that has none free."""
OWN_LIMIT = "own limit"
"""Needs more than its queue may ever use."""
HEADS = (TOO_LARGE, OTHER_FLAVOR, OWN_LIMIT)

H100, L40S = "H100", "L40S"
RACK_NODES = 20
COHORTS = 4
MOST_QUEUES, FEWEST_QUEUES, GANGS_PER_QUEUE = 40, 10, 12
DEEP = 5
"""One queue in this number is deep."""
DEEP_PERCENT = 75
"""Percentage of all gangs that wait in deep queues."""
GANGS_PER_LATE = 5
"""One more gang comes later for this number that wait."""
GANGS_PER_HEAD = 25
"""A deep queue begins with one gang that cannot start, and one more per this number of gangs."""
RUNNING_PODS = 4
URGENT = "urgent"
"""Priority class of heads: they are first whatever else the order says."""

SHAPES = {
    (1, 1): 30,
    (1, 2): 10,
    (1, 4): 10,
    (4, 1): 8,
    (8, 1): 6,
    (1, 8): 18,
    (2, 8): 9,
    (4, 8): 6,
    (8, 8): 2,
    (16, 8): 1,
}
"""(pods, GPUs of each) -> how many in a hundred gangs that fit are like that."""

_PRODUCTS = {H100: "NVIDIA-H100-80GB-HBM3", L40S: "NVIDIA-L40S"}
_PRODUCT = "nvidia.com/gpu.product"
_RACK = "topology.kubernetes.io/rack"
_L40S_OF_13 = 3  # 300 of 1,300 nodes
_SPARE_PERCENT = 15  # capacity beyond what fits, so that leftovers on single nodes decide nothing


class Crew(Struct, frozen=True):
    """A gang.

    Attributes:
        name: its pods are `NAME-0`, `NAME-1`, ...
        queue: it is charged to.
        pods: how many.
        gpus: of each.
        kind: `FITS`, or why it cannot start.
        nodes: where its pods run; empty = it waits.
    """

    name: str
    queue: str
    pods: int
    gpus: int = GPUS_PER_NODE
    kind: str = FITS
    nodes: tuple[str, ...] = ()

    @property
    def flavor(self) -> str:
        """The flavor it runs on or waits for."""
        return L40S if self.kind == OTHER_FLAVOR else H100

    @property
    def size(self) -> int:
        """How many GPUs it needs."""
        return self.pods * self.gpus


class Work(Struct, frozen=True):
    """A cluster and what waits in it.

    Attributes:
        flavors: flavor of each node, in the order of their numbers.
        queues: leaf queues; the first of each cohort are the deep ones.
        deep: names of the deep queues.
        running: gangs that hold nodes.
        waiting: gangs that wait, in the order of their submission.
    """

    flavors: tuple[str, ...]
    queues: tuple[str, ...]
    deep: frozenset[str]
    running: tuple[Crew, ...]
    waiting: tuple[Crew, ...]

    def fitting(self) -> list[Crew]:
        """Those that fit, all at once."""
        return [each for each in self.waiting if each.kind == FITS]

    def late(self) -> list[Crew]:
        """Gangs of one GPU that come later, into the deep queues; they fit too."""
        queues = sorted(self.deep)
        count = _late(len(self.waiting))
        return [Crew(f"late-{at}", queues[at % len(queues)], 1, 1) for at in range(count)]


def work(nodes: int, gangs: int, seed: int) -> Work:
    """Make the whole of it up.

    Raises:
        InputError: the nodes cannot hold that number of gangs.
    """
    chance = random.Random(seed)
    others = nodes * _L40S_OF_13 // 13
    flavors = (H100,) * (nodes - others) + (L40S,) * others
    count = min(MOST_QUEUES, max(FEWEST_QUEUES, gangs // GANGS_PER_QUEUE))
    queues = tuple(f"team-{number}" for number in range(count))
    deep = queues[: count // DEEP]
    heads, places = list[tuple[str, str]](), list[str]()
    for at, queue in enumerate(queues):
        depth = _depth(at, len(deep), count, gangs)
        blocked = _blocked(at, depth, at < len(deep))
        heads += [(queue, HEADS[(at + number) % len(HEADS)]) for number in range(blocked)]
        places += [queue] * (depth - blocked)
    chance.shuffle(places)
    shapes = _shapes(len(places))
    chance.shuffle(shapes)
    fitting = [
        Crew(f"{queue}-{number}", queue, pods, gpus)
        for number, (queue, (pods, gpus)) in enumerate(zip(places, shapes, strict=True))
    ]
    running = tuple(_running(flavors, queues, _in_use(nodes - others, fitting)))
    first = _heads(heads, fitting, _late(gangs))
    return Work(flavors, queues, frozenset(deep), running, (*first, *fitting))


def _shapes(count: int) -> list[tuple[int, int]]:
    """Shapes of a number of gangs, in the proportions of `SHAPES`."""
    hundred = [shape for shape, often in SHAPES.items() for _ in range(often)]
    return [hundred[at * len(hundred) // count] for at in range(count)]


def _depth(at: int, deep: int, count: int, gangs: int) -> int:
    """How many gangs wait in a queue."""
    crowd = gangs * DEEP_PERCENT // 100
    total, among, number = (
        (crowd, deep, at) if at < deep else (gangs - crowd, count - deep, at - deep)
    )
    return total // among + (number < total % among)


def _blocked(at: int, depth: int, is_deep: bool) -> int:
    """How many gangs of a queue cannot start; of shallow queues every other has one."""
    return min(depth, 1 + depth // GANGS_PER_HEAD if is_deep else at % 2)


def _in_use(nodes: int, fitting: Sequence[Crew]) -> int:
    """How many of the H100 nodes are in use: all that what fits does not need."""
    need = sum(each.size for each in fitting) * (100 + _SPARE_PERCENT) // 100
    used = nodes - need // GPUS_PER_NODE - 1
    if used < _racks(nodes):
        raise InputError(
            f"{len(fitting)} gangs need {need} GPUs, too many for {nodes} nodes",
            "take more nodes or fewer gangs",
        )
    return used


def _late(gangs: int) -> int:
    return gangs // GANGS_PER_LATE


def _racks(nodes: int) -> int:
    return -(-nodes // RACK_NODES)


def _running(flavors: Sequence[str], queues: Sequence[str], used: int) -> Iterator[Crew]:
    """What holds nodes: some of every rack of one flavor, and all of the other."""
    whole = flavors.count(H100)
    taken = [at for at in range(whole) if (at + 1) * used // whole > at * used // whole]
    for flavor, held in ((H100, taken), (L40S, list(range(whole, len(flavors))))):
        for number, at in enumerate(range(0, len(held), RUNNING_PODS)):
            places = tuple(f"node-{node}" for node in held[at : at + RUNNING_PODS])
            queue, kind = queues[number % len(queues)], FITS if flavor == H100 else OTHER_FLAVOR
            name = f"runs-{flavor.lower()}-{number}"
            yield Crew(name, queue, len(places), kind=kind, nodes=places)


def _heads(kinds: Sequence[tuple[str, str]], fitting: Sequence[Crew], late: int) -> Iterator[Crew]:
    """Those that cannot start."""
    wanted = _by_queue(fitting)
    for number, (queue, kind) in enumerate(kinds):
        name = f"{queue}-head-{number}"
        own = (wanted[queue] + late) // GPUS_PER_NODE + 1
        pods = {TOO_LARGE: RACK_NODES, OTHER_FLAVOR: 2, OWN_LIMIT: own}[kind]
        yield Crew(name, queue, pods, kind=kind)


def _by_queue(crews: Sequence[Crew]) -> Counter[str]:
    found = Counter[str]()
    for each in crews:
        found[each.queue] += each.size
    return found


def pods_of(crew: Crew, scheduler: str) -> list[dict[str, Any]]:
    """The pods of a gang as they are created."""
    labels = {names.GANG: crew.name, names.QUEUE: crew.queue}
    notes = {names.GANG_SIZE: str(crew.pods)}
    if crew.kind == TOO_LARGE:
        notes[names.TOPOLOGY_REQUIRED] = "rack"
    found = []
    for number in range(crew.pods):
        node = crew.nodes[number] if crew.nodes else ""
        name = f"{crew.name}-{number}"
        body = pod(name, scheduler, gpus=crew.gpus, node=node, labels=labels, annotations=notes)
        body["spec"]["nodeSelector"] = {_PRODUCT: _PRODUCTS[crew.flavor]}
        if crew.kind != FITS and not crew.nodes:
            body["spec"]["priorityClassName"] = URGENT
        found.append(body)
    return found


def node_labels(flavors: Sequence[str]) -> list[dict[str, str]]:
    """Labels of every node: its flavor and its rack."""
    return [
        {_PRODUCT: _PRODUCTS[flavor], _RACK: f"rack-{flavor.lower()}-{at // RACK_NODES}"}
        for at, flavor in enumerate(flavors)
    ]


def queue_specs(made: Work) -> dict[str, dict[str, Any]]:
    """Every queue and cohort by name, parents first.

    A cohort may use what all of its teams are guaranteed; deep queues borrow from the others. A
    team is guaranteed its part of the H100s, and of the others what it uses.
    """
    teams = dict(enumerate(made.queues))
    each = made.flavors.count(H100) // len(made.queues) * GPUS_PER_NODE
    other = _by_queue([crew for crew in made.running if crew.flavor == L40S])
    used = _by_queue([crew for crew in made.running if crew.flavor == H100])
    wanted = _by_queue(made.fitting())
    limited = {crew.queue for crew in made.waiting if crew.kind == OWN_LIMIT}
    found: dict[str, dict[str, Any]] = {}
    for number in range(COHORTS):
        mine = [team for at, team in teams.items() if at % COHORTS == number]
        quota = {H100: each * len(mine), L40S: sum(other[team] for team in mine)}
        found[f"cohort-{number}"] = {"quota": quota}
    for at, team in teams.items():
        quota = {H100: each, L40S: other[team]}
        limit = {H100: used[team] + wanted[team] + _late(len(made.waiting))}
        bound = {"limit": limit} if team in limited else {}
        found[team] = {"parent": f"cohort-{at % COHORTS}", "quota": quota, **bound}
    return found
