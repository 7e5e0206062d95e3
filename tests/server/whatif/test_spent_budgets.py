"""What a server suspended for a spent budget is suspended in a replay of its ledger."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.controllers.test_budgets import HOUR, MINUTE, Ward

from ganglion.model.events import Event, GangStarted, GangStopping
from ganglion.model.plan import Plan
from ganglion.server.whatif.answering import read_past
from ganglion.whatif.replay import beginning
from ganglion.worlds.simulated.run import simulate


@pytest.fixture
def ward(tmp_path: Path) -> Iterator[Ward]:
    made = Ward(tmp_path)
    yield made
    made.rig.ledger.close()


def replay(ward: Ward, since: int) -> list[Event]:
    """What a replay from a time on decides and does."""
    happened = list[Event]()

    def note(events: list[Event], plan: Plan) -> None:
        happened.extend((*events, *plan.decisions))

    with ward.rig.ledger.still() as reader:
        past = read_past(reader, since, ward.rig.machine.time)
    simulate(past.scenario, state=beginning(past.state), observe=note, check=True)
    return happened


def test_it_is_suspended_at_the_same_time_also_where_the_period_begins_in_the_grace(
    ward: Ward,
) -> None:
    ward.give(9)
    job = ward.runs("a", 8)
    begin = ward.rig.machine.time
    ward.after(HOUR + 7 * MINUTE)
    ward.after(MINUTE)  # of 9 EUR the last are spent after 67.5 minutes, at 8 EUR for an hour
    notified = ward.rig.machine.time
    assert "budget.100" in ward.alarms("queues/org")
    ward.after(14 * MINUTE)
    assert ward.rig.machine.stops == []
    ward.after(MINUTE)
    assert [stop[0] for stop in ward.rig.machine.stops] == [f"{job}/0"]
    stopped = ward.rig.machine.time
    ward.after(HOUR)
    ward.give(100, spent=11)
    assert ward.rig.state(job) == "RUNNING"
    ward.after(HOUR)
    for since in (begin - 1, notified + MINUTE):
        events = replay(ward, since)
        (at,) = (each.at for each in events if isinstance(each, GangStopping))
        assert stopped - MINUTE <= at <= stopped
        again = [each.at for each in events if isinstance(each, GangStarted) and each.at > at]
        assert len(again) == 1
