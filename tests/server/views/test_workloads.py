"""Numbers are what they are called: held is not asked for, cancelled is not failed."""

from ganglion.engine.cycle import cycle
from ganglion.model import events as ev
from ganglion.model.resources import GpuRequest, PodRequest
from ganglion.server.views.workloads import gpus_of, held_by
from tests.engine.build import gang, node, state_of, submit


def test_an_elastic_gang_holds_what_it_has_and_asks_for_what_it_may_have() -> None:
    state = state_of(node("n0"))
    submit(state, gang("e", pods=4, gpus=4, pod={"min_count": 1}))

    record = state.gangs.record("e/0")

    assert (held_by(record), gpus_of(state, record)) == (8, 16)


def test_what_waits_holds_nothing() -> None:
    state = state_of(node("n0"))
    submit(state, gang("run", gpus=8), gang("w", gpus=8))

    assert held_by(state.gangs.record("w/0")) == 0
    cycle(state, [ev.GangEnded(2, "run/0", 1, ev.Outcome.SUCCEEDED)], 2)
    assert (held_by(state.gangs.record("run/0")), held_by(state.gangs.record("w/0"))) == (0, 8)


def test_a_share_of_memory_counts_as_its_fraction_placed_or_not() -> None:
    """20 of the 80 GiB of an H100 are a quarter of it."""
    request = PodRequest(gpu=GpuRequest(1, share_mib=20 * 1024))
    state = state_of(node("n0", gpus=1))
    submit(state, gang("run", request=request))
    submit(state, gang("w", gpus=1, request=PodRequest(gpu=GpuRequest(1, share_mib=70 * 1024))))

    held, waits = state.gangs.record("run/0"), state.gangs.record("w/0")

    assert (gpus_of(state, held), held_by(held)) == (0.25, 0.25)
    assert (gpus_of(state, waits), held_by(waits)) == (0.875, 0)
