"""Conditions rated one at a time get the scores and devices that they get by rows."""

from random import Random

import pytest

from ganglion.engine.plugins.protocols import Ints, NodeClass, Plugins, Rows, Score, Typical
from ganglion.engine.plugins.scores.ganglion import GanglionScore
from ganglion.engine.topology.node_state import UNBOUNDED, NodeState
from ganglion.engine.topology.node_state_table import NodeStateTable
from ganglion.engine.topology.pod_shape import Shape
from ganglion.engine.topology.scoring import Rating
from ganglion.model.fleet.levels import Level
from ganglion.model.resources import WHOLE, GpuRequest, PodRequest

TYPES = {"A": 0, "B": 16_384, "C": 40_960}


class ByRows:
    """The same score without an appraisal."""

    name = "by-rows"
    cacheable = True

    def __init__(self) -> None:
        self._score = GanglionScore()

    def score(self, pod: PodRequest, rows: Rows, typical: Typical, turn: int) -> Ints:
        return self._score.score(pod, rows, typical, turn)


def a_request(dice: Random, memory: tuple[int, ...] = (0,)) -> PodRequest:
    cpu = dice.choice((0, 500, 1000, 3000, 8000))
    if dice.random() < 0.1:
        return PodRequest(cpu, dice.choice(memory))
    types = tuple(dice.sample(sorted(TYPES), dice.choice((0, 0, 1, 2))))
    if dice.random() < 0.2:
        gpu = GpuRequest(1, share_mib=dice.choice((4_000, 16_384)), types=types)
    elif dice.random() < 0.5:
        gpu = GpuRequest(1, dice.choice((100, 250, 470, 530, 810)), types=types)
    else:
        gpu = GpuRequest(dice.choice((1, 2, 4)), types=types)
    together = dice.choice((None, None, Level.NUMA, Level.ISLAND)) if gpu.count > 1 else None
    return PodRequest(cpu, dice.choice(memory), gpu, together)


def a_class(dice: Random) -> NodeClass:
    kinds = sorted(TYPES) if dice.random() < 0.3 else [dice.choice(sorted(TYPES))]
    devices = tuple(
        (kind, TYPES[kind], index // 2, index // 4)
        for index in range(dice.randrange(9))
        for kind in (dice.choice(kinds),)
    )
    return NodeClass(dice.choice((0, 16_000, 64_000)), 64_000, 100, devices, (), "", "")


def a_condition(dice: Random, number: int, node: NodeClass) -> NodeState:
    gpu = tuple(dice.choice((WHOLE, WHOLE, 0, 190, 530, 750)) for _ in node.devices)
    return NodeState(
        number,
        dice.random() < 0.9,
        dice.choice(("", "*", "queue:other")),
        dice.randrange(-1_000, node.cpu_milli + 1),
        dice.randrange(64_000),
        dice.choice((0, 1, UNBOUNDED)),
        tuple(i for i in range(len(gpu)) if dice.random() < 0.1),
        gpu,
    )


def table_of(score: Score, seed: int) -> NodeStateTable:
    dice = Random(seed)
    table = NodeStateTable(Plugins(scores=((score, 3),)))
    classes = [a_class(dice) for _ in range(6)]
    for each in classes:
        number = table.class_id(each)
        for _ in range(20):
            table.intern(a_condition(dice, number, each))
    typical = tuple((a_request(dice), dice.randrange(1, 50)) for _ in range(dice.randrange(12)))
    table.measure_by(typical, {kind: dice.randrange(1, 100) for kind in sorted(TYPES)})
    return table


@pytest.mark.parametrize("seed", range(40))
def test_one_at_a_time_and_by_rows_are_the_same(seed: int) -> None:
    dice = Random(-seed - 1)
    shapes = [Shape(a_request(dice, (0, 8_000)), (), (), (), "*", (), (), ()) for _ in range(15)]
    found = []
    for score in (GanglionScore(), ByRows()):
        table = table_of(score, seed)
        rating = Rating(table)
        for shape in shapes:
            rating.rate(table.sight(shape), range(len(table.known)))
        sights = [table.sight(shape) for shape in shapes]
        devices = [
            {each: sight.devices[each] for each, score in sight.scores.items() if score is not None}
            for sight in sights
        ]
        found.append(([sight.scores for sight in sights], devices))

    assert found[0] == found[1]
    assert any(score is not None for scores in found[0][0] for score in scores.values())
