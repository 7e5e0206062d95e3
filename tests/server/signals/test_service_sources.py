"""Where replicas or Prometheus report the load, their trouble holds a service and is reported."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ganglion.lifecycle.metrics.page import MetricsPage
from ganglion.model.behaviour import Signal
from tests.server.services import BRISK, Parlour, answers, pages


@pytest.fixture
def parlour(tmp_path: Path) -> Iterator[Parlour]:
    made = Parlour(tmp_path / "home")
    yield made
    made.rig.ledger.close()


def _page(waiting: float = 0, running: float = 0) -> MetricsPage:
    requests = waiting + running
    return MetricsPage(
        {Signal.WAITING: waiting, Signal.RUNNING: running, Signal.REQUESTS: requests}
    )


def _by_pages(parlour: Parlour, replicas: str = "1..4") -> str:
    scale = {"targets": {"requests": 2}, "source": "metrics", **BRISK}
    return parlour.submit(replicas=replicas, scale=scale)


def _by_query(parlour: Parlour, replicas: str = "1..4") -> str:
    scale = {"targets": {"query": 10}, "source": "http://prom:9090", "query": "sum(up)", **BRISK}
    return parlour.submit(replicas=replicas, scale=scale)


def test_every_replica_is_asked_where_it_listens(parlour: Parlour) -> None:
    _by_pages(parlour)
    assert parlour.scraper.jobs["chat-1"].pages == {"chat-1/0": "http://127.0.0.1:9/metrics"}


def test_it_follows_what_its_replicas_say(parlour: Parlour) -> None:
    _by_pages(parlour)
    parlour.told(lambda: pages(_page(4, 4)), 8)
    assert len(parlour.running()) == 4
    parlour.told(lambda: pages(*[_page(0, 0.25)] * 4), 12)
    assert len(parlour.running()) == 1


def test_what_waits_at_the_router_counts_too(parlour: Parlour) -> None:
    _by_pages(parlour)
    parlour.door.load["chat"] = (6, 0)
    parlour.told(lambda: pages(_page(0, 2)), 8)
    assert len(parlour.running()) == 4


def test_silence_holds_it_and_raises_an_alarm_until_it_ends(parlour: Parlour) -> None:
    _by_pages(parlour)
    parlour.told(lambda: pages(_page(4, 4)), 8)
    parlour.told(lambda: pages(*["no answer"] * 4), 60)
    assert len(parlour.running()) == 4
    assert "chat-1/0: no answer and 3 more" in parlour.alarms()["metrics.lost"]
    parlour.told(lambda: pages(*[_page(0, 2)] * 4), 6)
    assert parlour.alarms() == {}
    assert len(parlour.running()) == 4


@pytest.mark.parametrize("lie", ["waiting is nan", "waiting is negative"])
def test_lies_hold_it_and_raise_an_alarm_until_they_end(parlour: Parlour, lie: str) -> None:
    _by_pages(parlour)
    parlour.told(lambda: pages(_page(4, 4)), 8)
    parlour.told(lambda: pages(*[MetricsPage(trouble=lie)] * 4), 60)
    assert len(parlour.running()) == 4
    assert lie in parlour.alarms()["metrics.implausible"]
    parlour.told(lambda: pages(*[_page(0, 2)] * 4), 6)
    assert parlour.alarms() == {}


def test_a_jump_beyond_belief_starts_nothing(parlour: Parlour) -> None:
    _by_pages(parlour)
    parlour.told(lambda: pages(_page(0, 1)), 8)
    parlour.told(lambda: pages(_page(10**12, 1)), 30)
    assert parlour.running() == ["chat-1/0"]
    assert "metrics.implausible" in parlour.alarms()


def test_one_silent_replica_is_told_about_and_holds_nobody(parlour: Parlour) -> None:
    _by_pages(parlour)
    parlour.told(lambda: pages(_page(4, 2)), 8)
    assert len(parlour.running()) > 2
    parlour.told(lambda: pages("no answer", *[_page(2, 2)] * 2), 8)
    assert "chat-1/0: no answer" in parlour.alarms()["metrics.lost"]
    assert len(parlour.running()) == 4


def test_it_wakes_for_what_waits_at_the_router(parlour: Parlour) -> None:
    _by_pages(parlour, "0..4")
    assert parlour.running() == []
    parlour.load(1, 0, 3)
    assert parlour.running() == ["chat-1/0"]


def test_it_follows_a_query(parlour: Parlour) -> None:
    _by_query(parlour)
    assert parlour.scraper.jobs["chat-1"].queries == {Signal.QUERY: "sum(up)"}
    parlour.told(lambda: answers(35), 8)
    assert len(parlour.running()) == 4
    parlour.told(lambda: answers(5), 12)
    assert len(parlour.running()) == 1


@pytest.mark.parametrize(
    ("value", "alarm"),
    [(None, "metrics.lost"), (float("nan"), "metrics.implausible"), (-5, "metrics.implausible")],
)
def test_a_query_that_says_nothing_or_nonsense_holds_it(
    parlour: Parlour, value: float | None, alarm: str
) -> None:
    _by_query(parlour)
    parlour.told(lambda: answers(35), 8)
    parlour.told(lambda: answers(value), 30)
    assert len(parlour.running()) == 4
    assert alarm in parlour.alarms()
    parlour.told(lambda: answers(35), 6)
    assert parlour.alarms() == {}


def test_a_query_wakes_it(parlour: Parlour) -> None:
    _by_query(parlour, "0..4")
    parlour.told(lambda: answers(15), 3)
    assert len(parlour.running()) == 2


def test_doubts_are_told_once_however_rarely_there_is_news(parlour: Parlour) -> None:
    _by_pages(parlour)
    parlour.told(lambda: pages(_page(4, 2)), 8)
    for _ in range(10):
        parlour.told(lambda: pages("no answer", *[_page(2, 2)] * 3), 0.1)
        parlour.load(0, 0, 3)
    assert parlour.raised()[-1] == ("metrics.lost", True)
    assert len(parlour.raised()) <= 2
