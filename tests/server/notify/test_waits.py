"""Notices of long waits: one for each wait, with its reason, of work here and in clusters."""

from functools import partial

import pytest

from ganglion.model.behaviour import Notify
from ganglion.model.events import (
    OrderedReason,
    ReasonsChanged,
    SchedulerSettled,
    WaitGroups,
    WaitOrder,
)
from ganglion.server.notify import notifier as notifying
from ganglion.server.notify.notices import Notice, subject
from ganglion.server.notify.notifier import Notifier
from ganglion.server.notify.waits import NotedWait, SeenWait, Sight, newly_long, waiting_now
from tests.server.conftest import Rig
from tests.server.delivered.stories import begun, gang, submitted, turns
from tests.server.delivered.test_receive import deliver

TO = "ada@example.org"
MINUTE = 60_000


def looking(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, sees: Sight = lambda *_: True
) -> tuple[Notifier, list[Notice]]:
    """A notifier that looks at what waits, and what it sent."""
    sent: list[Notice] = []
    monkeypatch.setattr(notifying, "send", lambda notice, *_: sent.append(notice))
    made = Notifier(rig.home.root, rig.ledger, lambda: rig.machine.time)
    made.attend(partial(waiting_now, rig.service.read, sees))
    return made, sent


def after(rig: Rig, notifier: Notifier, minutes: int) -> None:
    """Time passes, and the notifier looks."""
    rig.machine.time += minutes * MINUTE
    rig.turn()
    notifier._look()
    notifier._deliver()


def wait(since: int, at: int, *patience: int) -> SeenWait:
    wishes = tuple(Notify(("waiting",), (TO,), waiting_ms=each) for each in patience)
    return SeenWait("a-1", since, at, at - since, {}, wishes)


def test_each_wish_gets_one_notice_of_a_wait_and_another_of_the_next_wait() -> None:
    noted, news = newly_long([wait(0, 29, 30, 60)], {})
    assert (noted, news) == ({}, [])
    noted, ((_, due),) = newly_long([wait(0, 31, 30, 60)], noted)
    assert [each.waiting_ms for each in due] == [30]
    assert newly_long([wait(0, 59, 30, 60)], noted) == (noted, [])
    noted, ((_, due),) = newly_long([wait(0, 61, 30, 60)], noted)
    assert [each.waiting_ms for each in due] == [60]
    assert newly_long([wait(70, 90, 30, 60)], noted) == (noted, [])
    again, ((_, due),) = newly_long([wait(70, 101, 30, 60)], noted)
    assert [each.waiting_ms for each in due] == [30]
    assert again == {"a-1": NotedWait(101, 31)}
    assert newly_long([], again) == ({}, [])  # it waits no more


def test_a_long_wait_is_notified_once_with_its_reason_and_its_numbers(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    notifier, sent = looking(rig, monkeypatch)
    notifier.choices.set("ada", [Notify(("waiting",), (TO,), waiting_ms=30 * MINUTE)])
    for name in ("first", "second"):
        rig.submit(name, resources={"gpus": 8})
    own = {"on": ["waiting"], "waiting": "2h", "mail": "own@example.org"}
    rig.submit("waits", resources={"gpus": 8})
    rig.submit("patient", resources={"gpus": 8}, notify=own)
    rig.submit("silent", resources={"gpus": 8}, notify=TO)
    held = rig.submit("held", resources={"gpus": 8}, hold=True)
    after(rig, notifier, 29)
    assert sent == []
    after(rig, notifier, 2)
    (notice,) = sent
    assert subject(notice) == "waits-3 has waited for 31m"
    assert (notice.event, notice.to) == ("waiting", TO)
    assert notice.facts["REASON"] == "capacity"
    assert "8" in notice.facts["MESSAGE"]
    assert rig.state(held) == "QUEUED"
    kept = Notifier(rig.home.root, rig.ledger, lambda: rig.machine.time)
    kept.attend(partial(waiting_now, rig.service.read, lambda *_: True))
    after(rig, kept, 90)  # another server goes on with what this one noted
    assert [each.to for each in sent] == [TO, "own@example.org"]


def test_a_wait_in_a_cluster_is_notified_where_its_user_may_see_the_queue(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = set[tuple[str, str]]()
    notifier, sent = looking(rig, monkeypatch, lambda user, queue: (user, queue) in seen)
    notifier.choices.set("lab", [Notify(("waiting",), (TO,), waiting_ms=30 * MINUTE)])
    key, reason = gang("train").id, ReasonsChanged(1_000, {"quota": (gang("train").id,)})
    order = WaitOrder(1_000, (key,), (OrderedReason("quota", "6 of 6 GPUs", (1,)),))
    rest = turns(
        ([*begun(1_000), submitted(1_000, "train"), SchedulerSettled(1_000)], []),
        ([WaitGroups(1_000, {"1": (key,)}), reason, order], []),
        ([WaitGroups(40 * MINUTE, {})], []),
    )
    deliver(rig, rest[:2])
    seen.add(("lab", "east:team"))
    after(rig, notifier, 60)
    assert sent == []  # its scheduler has said nothing for an hour
    deliver(rig, rest[2:])
    seen.clear()
    after(rig, notifier, 1)
    assert sent == []
    seen.add(("lab", "east:team"))
    after(rig, notifier, 1)
    after(rig, notifier, 1)
    (notice,) = sent
    assert notice.workload.startswith("east:train-")
    assert (notice.facts["QUEUE"], notice.facts["MESSAGE"]) == ("east:team", "quota")
    # One who sees the whole cluster gets the sentence, of another wait as well.
    seen.add(("lab", "east:"))
    deliver(rig, turns(([submitted(1_000, "other")], []), first=4))
    deliver(rig, turns(([WaitGroups(1_000, {"1": (gang("other").id,)})], []), first=5))
    told = WaitOrder(1_000, (gang("other").id,), (OrderedReason("quota", "6 of 6 GPUs", (1,)),))
    deliver(rig, turns(([told, WaitGroups(80 * MINUTE, {})], []), first=6))
    after(rig, notifier, 1)
    assert [each.facts["MESSAGE"] for each in sent] == ["quota", "6 of 6 GPUs"]
