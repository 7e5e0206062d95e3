"""Odd queue trees are described, not refused."""

import pytest

from ganglion.engine.queue_problems import problems
from ganglion.engine.queue_tree import QueueTree
from ganglion.model.queue import Queue
from ganglion.model.resources import Amount


def gpus(count: int, flavor: str = "*") -> dict[str, Amount]:
    return {flavor: Amount(gpu_milli=count * 1000)}


@pytest.mark.parametrize(
    ("queues", "says"),
    [
        (
            [
                Queue("org", quota=gpus(8)),
                Queue("a", "org", quota=gpus(6)),
                Queue("b", "org", quota=gpus(6)),
            ],
            "queues under org are guaranteed 12 GPUs together, but org only 8",
        ),
        (
            [Queue("a", quota=gpus(8, "H100"), limit=gpus(4, "H100"))],
            "queue a is guaranteed 8 H100 GPUs but limited to 4",
        ),
        (
            [Queue("a", quota=gpus(2), lend_limit=gpus(4))],
            "queue a lends up to 4 GPUs of a quota of 2",
        ),
        (
            [Queue("a", lend_limit=gpus(4))],
            "queue a lends up to 4 GPUs of a quota of 0",
        ),
        (
            [Queue("a", over_quota_weight=0), Queue("b", quota=gpus(4))],
            "queue a has neither quota nor weight: all it uses may be reclaimed",
        ),
        (
            [Queue("a", quota=gpus(20)), Queue("b", quota=gpus(4))],
            "all queues together are guaranteed 24 GPUs, but there are 16",
        ),
    ],
)
def test_what_is_odd_is_said(queues: list[Queue], says: str) -> None:
    tree = QueueTree()
    for queue in queues:
        tree.put(queue)

    assert problems(tree, {"*": 16000, "H100": 16000}) == [says]


def test_a_sound_tree_has_no_problems() -> None:
    tree = QueueTree()
    for queue in (
        Queue("org", quota=gpus(8), limit=gpus(16)),
        Queue("a", "org", quota=gpus(8), lend_limit=gpus(8), over_quota_weight=0),
        Queue("b", "org"),
    ):
        tree.put(queue)

    assert problems(tree, {"*": 16000}) == problems(tree) == []
