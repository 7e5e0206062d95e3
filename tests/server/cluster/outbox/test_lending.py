"""What queues of a cluster lend one another, from the turns of its scheduler to the ledger."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from ganglion.ledger.intervals import lent_until
from ganglion.model.events import SchedulerEnded
from ganglion.model.queue import Queue
from ganglion.model.resources import Amount
from ganglion.server.cluster.outbox.lending import EVERY_MS, LendingReports
from ganglion.server.recovery.verify import verified
from ganglion.server.views.usage import lent_rows, opened
from tests.controlplane import manifests
from tests.server.cluster.activity.test_sampled import East

FOUR = {"*": Amount(gpu_milli=4_000)}


@pytest.fixture
def east(tmp_path: Path) -> Iterator[East]:
    queues = (Queue("default"), Queue("org", quota={"*": Amount(gpu_milli=8_000)}))
    parts = (Queue("a", "org", quota=FOUR), Queue("b", "org", quota=FOUR))
    made = East(tmp_path / "home", 2, (*queues, *parts))
    yield made
    made.rig.ledger.close()


def lent(east: East) -> dict[str, tuple[int, int]]:
    """Queue -> GPU-seconds that it lent and borrowed; the ledger has no flaw."""
    now = east.clock.wall
    with east.rig.service.read() as mind:
        found = opened(mind, east.rig.ledger, now)
    with east.rig.ledger.still() as reader:
        assert verified(reader).flaws == []
        assert lent_until(reader) == 0  # no queue of this machine lent anything
    rows = lent_rows(east.rig.ledger, found, (0, now), None)
    assert {each.parent for each in rows} <= {"east:org"}
    second = 1_000_000
    return {e.queue: (e.lent_gpu_us // second, e.borrowed_gpu_us // second) for e in rows}


def test_what_queues_of_a_cluster_lend_is_said_every_ten_minutes_and_at_the_end(
    east: East,
) -> None:
    east.turn()
    for name in ("one", "two"):
        labels = {"ganglion.dev/queue": "a"}
        east.stage.show(*manifests.gang(name, 1, gpus=3, labels=labels))
    east.passes(60_000)
    east.turn()  # 2 GPUs more than its quota
    east.passes(EVERY_MS - 60_000)
    east.turn()
    assert lent(east) == {"east:b": (1_080, 0), "east:a": (0, 1_080)}
    east.passes(30_000)
    east.turn()
    assert lent(east) == {"east:b": (1_080, 0), "east:a": (0, 1_080)}  # not said yet
    rest = [*east.reports.lending.rest(east.clock.wall)]
    ended = (*rest, SchedulerEnded(east.clock.wall))
    east.deliver([SimpleNamespace(at=east.clock.wall, facts=ended, decisions=())])
    assert lent(east)["east:b"] == (1_080 + 60, 0)
    assert [*east.reports.lending.rest(east.clock.wall)] == []
    # A scheduler that starts counts from when it has looked at all, though nothing happens.
    other, state, now = LendingReports(), east.stage.controller.scene.state, east.clock.wall
    assert [*other.of(state, (), now)] == []
    (said,) = other.of(state, (), now + EVERY_MS)
    assert {each.queue: each.lent_gpu_us for each in said.queues} == {"a": 0, "b": 2_000 * EVERY_MS}
    east.rig.crash()
    assert lent(east)["east:a"] == (0, 1_140)
