"""The queue tree: what is refused, and what stays as queues change."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ganglion.engine.queues.tree import QueueTree
from ganglion.engine.queues.usage import Shares
from ganglion.model.errors import Conflict, FieldError, NotFound
from ganglion.model.queue import Queue
from ganglion.model.resources import Amount, Usage


def tree_of(*queues: Queue) -> QueueTree:
    tree = QueueTree()
    for queue in queues:
        tree.put(queue)
    return tree


def family() -> QueueTree:
    return tree_of(Queue("org"), Queue("b", "org"), Queue("a", "org"))


@pytest.mark.parametrize(
    ("queue", "error", "says"),
    [
        (Queue("c", "nowhere"), NotFound, "there is no queue nowhere"),
        (Queue("org", "a"), Conflict, "cannot lie under itself"),
        (Queue("c", quota={"*": Amount(gpu_milli=-1)}), FieldError, "quota.*.gpu_milli"),
        (Queue("c", over_quota_weight=-1), FieldError, "over_quota_weight"),
    ],
)
def test_a_queue_that_makes_no_sense_is_refused_by_name(
    queue: Queue, error: type[Exception], says: str
) -> None:
    tree = family()

    with pytest.raises(error, match=says.replace("*", r"\*")):
        tree.put(queue)
    assert [*tree.queues] == ["org", "b", "a"]


def test_queues_keep_their_age_when_they_change_and_lose_it_when_removed() -> None:
    tree = family()
    tree.put(Queue("b", "org", priority=7))
    tree.remove("a")
    tree.put(Queue("a", "org"))

    assert tree.children["org"] == ["b", "a"]
    assert tree.order["b"] < tree.order["a"]
    assert tree.leaves("org") == ("b", "a")


def test_a_queue_moves_once_nothing_runs_in_it() -> None:
    shares = Shares()
    for queue in (Queue("x"), Queue("y"), Queue("team", "x")):
        shares.put(queue)
    shares.charge("team", "H100", Usage(1000), preemptible=True, sign=1)

    with pytest.raises(Conflict):
        shares.put(Queue("team", "y"))
    shares.charge("team", "H100", Usage(1000), preemptible=True, sign=-1)
    shares.put(Queue("team", "y"))

    assert shares.path("team") == ("team", "y")


@given(st.data())
def test_queues_that_are_new_or_changed_are_known_as_if_all_were_looked_at_anew(
    data: st.DataObject,
) -> None:
    tree, names = QueueTree(), [""]
    for number in range(data.draw(st.integers(1, 12))):
        is_new = number == 0 or data.draw(st.booleans())
        name = f"q{number}" if is_new else data.draw(st.sampled_from(names[1:]))
        queue = Queue(
            name,
            data.draw(st.sampled_from(names)) if is_new else tree.queues[name].parent,
            quota=data.draw(st.sampled_from(AMOUNTS)),
            limit=data.draw(st.sampled_from(AMOUNTS)),
            lend_limit=data.draw(st.sampled_from(AMOUNTS)),
        )
        tree.put(queue)
        names += [name] if is_new else []
        if data.draw(st.booleans()):
            known(tree)

    anew = QueueTree()
    for queue in tree.queues.values():
        anew.put(queue)

    assert known(tree) == known(anew)


AMOUNTS: tuple[dict[str, Amount], ...] = (
    {},
    {},
    {"*": Amount(gpu_milli=4000)},
    {"H100": Amount(gpu_milli=2000)},
)


def known(tree: QueueTree) -> list[object]:
    each = [
        (tree.path(name), tree.leaves(name), tree.binding(name, preemptible=False))
        for name in tree.queues
    ]
    children = {name: list(below) for name, below in tree.children.items()}
    return [each, children, tree.accounts, tree.lends, tree.depth]
