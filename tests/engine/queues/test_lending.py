"""What queues keep back is up to date after every change of use."""

from hypothesis import given
from hypothesis import strategies as st

from ganglion.engine.queues.lending import Lending
from ganglion.engine.queues.usage import Shares
from ganglion.model.queue import Queue
from ganglion.model.resources import Amount, Usage

amounts = st.none() | st.builds(
    Amount,
    gpu_milli=st.none() | st.integers(0, 8).map(lambda n: n * 1000),
    cpu_milli=st.none() | st.integers(0, 8),
)


def bounds(data: st.DataObject) -> dict[str, Amount]:
    drawn = {flavor: data.draw(amounts) for flavor in ("*", "H100")}
    return {flavor: each for flavor, each in drawn.items() if each}


@given(st.data())
def test_what_is_kept_back_follows_every_charge(data: st.DataObject) -> None:
    shares = Shares()
    names = [""]
    for number in range(data.draw(st.integers(1, 7))):
        parent = data.draw(st.sampled_from(names))
        queue = Queue(f"q{number}", parent, quota=bounds(data), lend_limit=bounds(data))
        shares.put(queue)
        names.append(queue.name)
    leaves = [name for name in shares.queues if shares.is_leaf(name)]
    followed, held = Lending(shares.tree, shares.usage), list[tuple[str, str, Usage]]()
    for leaf in leaves:
        followed.beside(shares.path(leaf), "*")

    for _ in range(data.draw(st.integers(0, 8))):
        if data.draw(st.booleans()) and held:
            leaf, flavor, used = held.pop()
            sign = -1
        else:
            leaf, flavor = data.draw(st.sampled_from(leaves)), data.draw(flavors)
            used, sign = Usage(data.draw(st.integers(0, 9)) * 1000, 3), 1
            held.append((leaf, flavor, used))
        shares.charge(leaf, flavor, used, preemptible=True, sign=sign)
        for key in (flavor, "*"):
            followed.changed(shares.path(leaf), key)

    fresh = Lending(shares.tree, shares.usage)
    for leaf in leaves:
        for flavor in ("*", "H100"):
            path = shares.path(leaf)
            assert followed.beside(path, flavor) == fresh.beside(path, flavor)


flavors = st.sampled_from(["H100", "T4"])


def test_seen_from_a_queue_its_own_keeping_does_not_count() -> None:
    shares = Shares()
    for queue in (
        Queue("org"),
        Queue("a", "org", quota=gpus(4), lend_limit=gpus(1)),
        Queue("b", "org", quota=gpus(8), lend_limit=gpus(6)),
    ):
        shares.put(queue)
    lending = Lending(shares.tree, shares.usage)

    kept = [(each.above, each.name, each.kept) for each in lending.beside(("a", "org"), "*")]

    assert kept == [("org", "a", Usage(2000)), ("", "org", Usage())]


def gpus(count: int) -> dict[str, Amount]:
    return {"*": Amount(gpu_milli=count * 1000)}
