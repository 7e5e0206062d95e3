"""Use is compared with quota and share, account by account and kind by kind."""

from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.store.entitlement import Entitled
from ganglion.model.queue import Queue
from ganglion.model.resources import Amount, Usage
from tests.engine.build import gang, node, state_of, submit

ONE = Usage(gpu_milli=1000)


def running(*queues: Queue) -> ClusterState:
    """Four GPUs, three of them used by team a."""
    state = state_of(node("n", gpus=4), queues=queues)
    submit(state, gang("x", gpus=3, cpu=2000, queue="a"))
    state.deserved.refresh(1)
    return state


def queue(name: str, gpus: int | None, parent: str = "", **more: int) -> Queue:
    return Queue(name, parent, quota={"*": Amount(gpu_milli=gpus, **more)})


def test_a_queue_without_quota_is_guaranteed_nothing() -> None:
    ours = Entitled(running(Queue("a"), queue("b", 1000)))
    assert ours.quota("a", "*", "gpu_milli") == 0
    assert ours.quota("a", "*", "cpu_milli") is None
    assert ours.over_quota("a", "H100", ["gpu_milli"])
    assert not ours.over_quota("a", "H100", ["cpu_milli"])


def test_the_share_is_never_below_the_quota_nor_asked_for_beyond_it() -> None:
    ours = Entitled(running(queue("a", 2000), queue("b", 2000)))
    assert ours.share("b", "*", "gpu_milli") == 2000
    assert ours.within_quota("b", "H100", Usage(gpu_milli=2000))
    assert not ours.within_quota("b", "H100", Usage(gpu_milli=2001))
    # No other queue asks for the fourth GPU: a deserves what it uses.
    assert not ours.over_share("a", "H100", ["gpu_milli"])
    assert ours.over_quota("a", "H100", ["gpu_milli"])


def test_cpu_counts_where_it_is_governed() -> None:
    ours = Entitled(running(queue("a", 4000, cpu_milli=1000), queue("b", 0, cpu_milli=500)))
    assert ours.over_quota("a", "H100", ["cpu_milli"])
    assert not ours.within_quota("b", "H100", Usage(cpu_milli=501))
    assert ours.within_quota("b", "H100", Usage(cpu_milli=500))


def test_a_dead_zone_spares_who_is_hardly_over() -> None:
    state = running(queue("a", 2000), queue("b", 2000))
    assert not Entitled(state, dead_zone_permille=500).over_quota("a", "H100", ["gpu_milli"])
    assert Entitled(state, dead_zone_permille=499).over_quota("a", "H100", ["gpu_milli"])


def test_what_siblings_use_beyond_their_shares_does_not_count_against_a_leaf() -> None:
    state = running(queue("top", 3000), queue("a", 2000, "top"), queue("b", 1000, "top"))
    submit(state, gang("y", gpus=1, queue="b"), gang("z", gpus=1, queue="b"))
    state.deserved.refresh(2)
    ours = Entitled(state)
    assert ours.used("top", "*", "gpu_milli") == 4000
    assert not ours.within_share("top", "H100", ONE)
    assert ours.within_share("top", "H100", Usage(), relief="b")
